// Who may say what a worker is given, and what the core is told of it.
#include "engine/master/nodes/node_capacities.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

schedulers::Resources amounts_of(const std::string& text) { return schedulers::parse_resources(text).value(); }

class NodeCapacitiesTest : public testing::Test {
 protected:
  NodeCapacitiesTest() { join(1, "w1"); }
  void join(std::uint32_t node, const std::string& name) {
    capacities_.joined(NodeId(node), name, "h", amounts_of("cpu=4,memory=8GiB"), std::nullopt);
  }
  /// What the core is told, as text; empty: nothing.
  std::string news(std::uint32_t node = 1) {
    const auto event = capacities_.news(NodeId(node), now_, now_ + 9h);
    if (!event) return "";
    EXPECT_EQ(event->node, NodeId(node));
    forecast_ = event->forecast;
    return to_string(*event->capacity) + (event->why.empty() ? "" : " " + event->why);
  }
  NodeCapacities capacities_;
  Time now_{0};
  std::vector<schedulers::CapacityStep> forecast_;
};

TEST_F(NodeCapacitiesTest, AnOperatorGivesLessAndAllAgain) {
  EXPECT_EQ(news(), "");
  ASSERT_TRUE(capacities_.set("w1", "slots=2", "a new disk"));
  EXPECT_EQ(news(), "cpu=2,memory=8GiB set by an operator: a new disk");
  EXPECT_EQ(news(), "") << "told once";
  ASSERT_TRUE(capacities_.set("w1", "memory=1GiB", ""));
  EXPECT_EQ(news(), "cpu=2,memory=1GiB set by an operator");
  ASSERT_TRUE(capacities_.set("w1", "slots=nominal", ""));
  EXPECT_EQ(news(), "cpu=4,memory=1GiB set by an operator");
  ASSERT_TRUE(capacities_.set("w1", "nominal", ""));
  EXPECT_EQ(news(), "cpu=4,memory=8GiB");
}

TEST_F(NodeCapacitiesTest, AnOperatorsWordsAreForAllWorkersOfTheName) {
  ASSERT_TRUE(capacities_.set("w1", "slots=0", ""));
  join(2, "w1");
  join(3, "w3");
  EXPECT_EQ(news(2), "memory=8GiB set by an operator") << "it came back";
  EXPECT_EQ(news(3), "");
}

TEST_F(NodeCapacitiesTest, RefusesWhatAWorkerCannotBeGiven) {
  const auto error = [&](const std::string& name, const std::string& words) {
    const auto done = capacities_.set(name, words, "");
    return done ? "" : done.error().to_string();
  };
  EXPECT_THAT(error("w1", "slots=5"), HasSubstr("worker w1 joined with cpu=4,memory=8GiB: it cannot be given more"));
  EXPECT_THAT(error("w1", "disk_read=1MB"),
              HasSubstr("worker w1 does not account for disk_read; start it with --capacity disk_read=…"));
  EXPECT_THAT(error("w2", "slots=1"), HasSubstr("there is no worker 'w2'"));
  EXPECT_THAT(error("w1", "slots"), HasSubstr("'slots' is no amount"));
  EXPECT_EQ(news(), "");
}

TEST_F(NodeCapacitiesTest, WhatItsFileSaysCountsUntilItSaysSomethingElse) {
  ASSERT_TRUE(capacities_.said(NodeId(1), "slots=1\n"));
  EXPECT_EQ(news(), "cpu=1,memory=8GiB its --capacity-from file");
  EXPECT_FALSE(capacities_.said(NodeId(1), "slots=many\n"));
  EXPECT_TRUE(capacities_.said(NodeId(1), "slots=many\n")) << "that was said";
  EXPECT_FALSE(capacities_.said(NodeId(1), "network_in=1MB\n"));
  EXPECT_EQ(news(), "") << "the last good one stays";
  ASSERT_TRUE(capacities_.said(NodeId(1), "slots=100"));
  EXPECT_EQ(news(), "cpu=4,memory=8GiB");
}

TEST_F(NodeCapacitiesTest, WhoSaysTheLeastIsNamed) {
  ASSERT_TRUE(capacities_.said(NodeId(1), "slots=3,memory=2GiB"));
  ASSERT_TRUE(capacities_.set("w1", "slots=2", ""));
  EXPECT_EQ(news(), "cpu=2,memory=2GiB its --capacity-from file; set by an operator");
  ASSERT_TRUE(capacities_.said(NodeId(1), "slots=3"));
  EXPECT_EQ(news(), "cpu=2,memory=8GiB set by an operator");
}

TEST_F(NodeCapacitiesTest, OthersOnTheMachineCount) {
  capacities_.joined(NodeId(2), "w2", "busy", amounts_of("cpu=4,memory=8GiB"), ColocatedLoad::Machine{4, 64e9});
  for (int i = 0; i < 30; ++i) {
    now_ += 1s;
    capacities_.measured(NodeId(2), {.cpu = 1}, {.cpu = 4, .memory = 1e9}, now_);
  }
  EXPECT_THAT(news(2), HasSubstr("cpu=1,memory=8GiB others on its machine use 2."));
  capacities_.left(NodeId(2));
}

TEST_F(NodeCapacitiesTest, AForecastIsToldAgainBeforeItEnds) {
  ASSERT_TRUE(capacities_.forecast(NodeId(1), "12:00 50%\n18:00 100%\n", 2h));
  EXPECT_EQ(news(), "cpu=4,memory=8GiB");
  ASSERT_EQ(forecast_.size(), 3u) << "now, in an hour, and seven hours from now: it is 11 o'clock there";
  EXPECT_EQ(forecast_[1].from, Time(1h));
  EXPECT_EQ(forecast_[1].available, amounts_of("cpu=2,memory=4GiB"));
  EXPECT_EQ(forecast_[2].from, Time(7h));
  EXPECT_EQ(news(), "");
  now_ += 61min;
  EXPECT_EQ(news(), "cpu=4,memory=8GiB");
  EXPECT_EQ(forecast_.front().available, amounts_of("cpu=2,memory=4GiB"));
  EXPECT_FALSE(capacities_.forecast(NodeId(1), "noon 50%", 0h));
  EXPECT_EQ(news(), "");
}

}  // namespace
}  // namespace weft::master

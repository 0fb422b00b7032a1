// Capacities that change: what the core does with what runs, with what waits, and with what cannot be.
#include <gmock/gmock.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::capacity {
namespace {

using namespace test;
using testing::HasSubstr;

class CoreCapacity : public testing::Test {
 protected:
  CoreCapacity() {
    d.join(1, 4);
    d.submit(1);
    EXPECT_TRUE(d.extend(1, part(1, {result(source(0, 8, 0))})));
  }
  Result<void> change(double slots, std::string why = "because") {
    return d.apply(CapacityChanged{.node = NodeId(1), .capacity = schedulers::Resources{.cpu = slots}, .why = std::move(why)});
  }
  const schedulers::NodeInfo& node() const { return *d.core.view().node(NodeId(1)); }
  Driver d{{.heartbeat_timeout = Time(0)}};
};

TEST_F(CoreCapacity, WhatRunsGoesOnAndNothingIsStartedAboveIt) {
  ASSERT_EQ(d.running.size(), 4u);
  ASSERT_TRUE(change(1));
  EXPECT_EQ(d.running.size(), 4u) << "nobody is killed";
  EXPECT_EQ(node().capacity.cpu, 1);
  EXPECT_EQ(node().nominal.cpu, 4);
  EXPECT_EQ(node().capacity_why, "because");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(d.finish(d.running.begin()->first));
    EXPECT_EQ(d.running.size(), static_cast<std::size_t>(3 - i));
  }
  ASSERT_TRUE(d.finish(d.running.begin()->first));
  EXPECT_EQ(d.running.size(), 1u) << "one slot, one task";
  ASSERT_TRUE(change(4, ""));
  EXPECT_EQ(d.running.size(), 4u) << "all that are left, at once";
  EXPECT_EQ(node().capacity_why, "");
}

TEST_F(CoreCapacity, WithoutSlotsNothingIsStartedAndTheJobSaysWhy) {
  ASSERT_TRUE(change(0));
  while (!d.running.empty()) ASSERT_TRUE(d.finish(d.running.begin()->first));
  const auto explained = d.core.explain(JobId(1));
  ASSERT_EQ(explained->waiting.size(), 1u);
  EXPECT_EQ(explained->waiting[0].tasks, 4u);
  EXPECT_THAT(explained->waiting[0].reason, HasSubstr("no worker has cpu=1 at present: the capacity of 1 worker is reduced"));
  ASSERT_TRUE(change(2));
  EXPECT_EQ(d.running.size(), 2u);
}

TEST_F(CoreCapacity, RefusesWhatANodeCannotHave) {
  EXPECT_FALSE(change(5)) << "more than it joined with";
  EXPECT_FALSE(change(-1));
  EXPECT_FALSE(d.apply(CapacityChanged{.node = NodeId(1), .capacity = schedulers::Resources{.cpu = 1, .memory = 1}}))
      << "memory is not accounted for";
  EXPECT_FALSE(d.apply(CapacityChanged{.node = NodeId(2)}));
  EXPECT_FALSE(d.apply(CapacityChanged{.node = NodeId(1), .forecast = {{Time(2), {.cpu = 1}}, {Time(1), {.cpu = 1}}}}));
  EXPECT_FALSE(d.apply(CapacityChanged{.node = NodeId(1), .forecast = {{Time(2), {.cpu = -1}}}}));
  EXPECT_EQ(node().capacity.cpu, 4);
  EXPECT_TRUE(node().forecast.empty());
}

TEST_F(CoreCapacity, AForecastLeavesTheCapacityAndACapacityTheForecast) {
  ASSERT_TRUE(change(3));
  const std::vector<schedulers::CapacityStep> steps{{Time(1), {.cpu = 1}}, {Time(2), {.cpu = 4}}};
  ASSERT_TRUE(d.apply(CapacityChanged{.node = NodeId(1), .forecast = steps}));
  EXPECT_EQ(node().capacity.cpu, 3);
  EXPECT_EQ(node().capacity_why, "because");
  ASSERT_TRUE(change(2));
  EXPECT_EQ(node().forecast, steps);
}

TEST(CoreSpeed, NodesOfDifferentSpeedAreRecognised) {
  Driver d({.heartbeat_timeout = Time(0)});
  for (std::uint32_t node : {1u, 2u, 3u}) d.join(node, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(1, {result(source(0, 30, 0))})));
  std::map<AttemptId, Time> due;
  const auto takes = [](NodeId node) { return Time(std::chrono::seconds(node == NodeId(3) ? 20 : 10)); };
  while (!d.running.empty()) {
    for (const auto& [attempt, node] : d.running) due.try_emplace(attempt, d.now + takes(node));
    const auto next = std::min_element(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    d.now = next->second;
    const AttemptId attempt = next->first;
    due.erase(next);
    ASSERT_TRUE(d.finish(attempt));
  }
  EXPECT_DOUBLE_EQ(d.core.view().node(NodeId(1))->speed, 1);
  EXPECT_DOUBLE_EQ(d.core.view().node(NodeId(2))->speed, 1);
  EXPECT_DOUBLE_EQ(d.core.view().node(NodeId(3))->speed, 0.5);
}

}  // namespace
}  // namespace weft::master::capacity

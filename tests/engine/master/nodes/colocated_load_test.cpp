// What is left for workers of machines that others use, too.
#include "engine/master/nodes/colocated_load.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;
using schedulers::Resources;

constexpr double kGiB = 1 << 30;

Resources amounts(double cpu, double memory = kGiB) { return {.cpu = cpu, .memory = memory}; }

class ColocatedLoadTest : public testing::Test {
 protected:
  void join(std::uint32_t node, double slots, const std::string& host = "h", double processors = 8) {
    load_.joined(NodeId(node), host, amounts(slots, 16 * kGiB), {processors, 64 * kGiB});
  }
  /// Heartbeats of a second each in which others use that.
  void pass(int seconds, double others, double own = 0, std::uint32_t node = 1, double others_memory = 0) {
    for (int i = 0; i < seconds; ++i) {
      now_ += 1s;
      load_.measured(NodeId(node), amounts(own), amounts(own + others, kGiB + others_memory), now_);
    }
  }
  double slots(std::uint32_t node = 1) const {
    const auto left = load_.of(NodeId(node));
    return left ? left->slots : -1;
  }
  ColocatedLoad load_;
  schedulers::Time now_{0};
};

TEST_F(ColocatedLoadTest, NothingGoesWhileThereIsRoomForAll) {
  join(1, 4);
  pass(30, 0);
  EXPECT_EQ(slots(), -1);
  pass(30, 4, 4);
  EXPECT_EQ(slots(), -1) << "8 processors are enough for 4 of others and 4 slots";
  pass(30, 4.4, 3.6);
  EXPECT_EQ(slots(), -1) << "less than half a slot is tolerated";
}

TEST_F(ColocatedLoadTest, SlotsGoAndComeBackWithHysteresis) {
  join(1, 4);
  pass(20, 0);
  pass(1, 8);
  EXPECT_EQ(slots(), -1) << "a moment is no load";
  pass(20, 6);
  EXPECT_EQ(slots(), 2);
  EXPECT_NE(load_.of(NodeId(1))->why.find("of 8 processors"), std::string::npos) << load_.of(NodeId(1))->why;
  pass(20, 5.3);
  EXPECT_EQ(slots(), 2) << "others use more than a quarter of the next slot";
  pass(20, 6.4);
  EXPECT_EQ(slots(), 2);
  pass(20, 4.9);
  EXPECT_EQ(slots(), 3);
  pass(20, 0);
  EXPECT_EQ(slots(), -1);
  pass(20, 8);
  EXPECT_EQ(slots(), 0);
}

TEST_F(ColocatedLoadTest, NothingComesBackSoonAfterAChange) {
  join(1, 4);
  pass(10, 0);
  pass(3, 8);
  ASSERT_EQ(slots(), 2);
  pass(4, 0);
  EXPECT_EQ(slots(), 2);
  pass(2, 0);
  EXPECT_EQ(slots(), -1);
}

TEST_F(ColocatedLoadTest, AWorkerWithASlotForEachProcessorGetsThemBackThoughSomethingAlwaysRuns) {
  join(1, 8);
  pass(10, 0.2);
  EXPECT_EQ(slots(), -1);
  pass(20, 1);
  EXPECT_EQ(slots(), 7);
  pass(20, 0.4);
  EXPECT_EQ(slots(), 7);
  pass(20, 0.2);
  EXPECT_EQ(slots(), -1);
}

TEST_F(ColocatedLoadTest, WhatItsWorkersUseIsNobodyElses) {
  join(1, 4);
  join(2, 4);
  for (int i = 0; i < 30; ++i) {
    now_ += 1s;
    for (std::uint32_t node : {1u, 2u}) load_.measured(NodeId(node), amounts(4), amounts(8), now_);
  }
  EXPECT_EQ(slots(1), -1);
  EXPECT_EQ(slots(2), -1);
  for (int i = 0; i < 30; ++i) {
    now_ += 1s;
    for (std::uint32_t node : {1u, 2u}) load_.measured(NodeId(node), amounts(2), amounts(8), now_);
  }
  EXPECT_EQ(slots(1), 2) << "the 4 that are left are shared";
  EXPECT_EQ(slots(2), 2);
  load_.left(NodeId(2));
  pass(30, 4, 2);
  EXPECT_EQ(slots(1), -1) << "8 processors less 4 are enough for one";
  EXPECT_EQ(slots(2), -1);
}

TEST_F(ColocatedLoadTest, SlotsOfLessThanAProcessorGoInProportion) {
  join(1, 16);
  pass(20, 0);
  pass(30, 4);
  EXPECT_EQ(slots(), 8);
}

TEST_F(ColocatedLoadTest, MemoryIsLeftToOthersAsWell) {
  join(1, 4);
  pass(10, 0);
  pass(30, 0, 0, 1, 56 * kGiB);
  ASSERT_TRUE(load_.of(NodeId(1)));
  EXPECT_NEAR(load_.of(NodeId(1))->memory, 8 * kGiB, 1.5 * kGiB);
  EXPECT_EQ(load_.of(NodeId(1))->slots, 4);
  pass(30, 0);
  EXPECT_FALSE(load_.of(NodeId(1)));
}

TEST_F(ColocatedLoadTest, WorkersThatDoNotYieldAreNotLookedAt) {
  load_.joined(NodeId(1), "h", amounts(4), {0, 0});
  pass(30, 8);
  EXPECT_EQ(slots(), -1);
  load_.left(NodeId(1));
}

TEST_F(ColocatedLoadTest, AfterASilenceTheFirstMeasurementDecidesNothing) {
  join(1, 4);
  pass(10, 0);
  now_ += 1min;
  pass(1, 8);
  EXPECT_EQ(slots(), -1);
}

}  // namespace
}  // namespace weft::master

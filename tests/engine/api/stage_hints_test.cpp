// What a program says of its stages for schedulers, as the plan has it.
#include <limits>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/engine/api/plan_of.hpp"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

TEST(StageHints, GoToTheStageThatComputesTheDataset) {
  const auto stages = plan_of([](Flow& flow) {
    auto counts = pairs(flow).demand({.cpu = 2, .memory = 5e8}).estimate(3s, 0.25).reduce_by_key(std::plus<>());
    (void)counts.estimate(7s).count();
  });
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].demand, (TaskDemand{.cpu = 2, .memory = 5e8}));
  EXPECT_EQ(stages[0].estimated_task_duration, 3s);
  EXPECT_EQ(stages[0].estimated_output_ratio, 0.25);
  EXPECT_EQ(stages[1].demand, TaskDemand{});
  EXPECT_EQ(stages[1].estimated_task_duration, 7s);
  EXPECT_EQ(stages[1].estimated_output_ratio, 0);
}

TEST(StageHints, WithoutAnyThePlanSaysNothing) {
  const auto stages = plan_of([](Flow& flow) { (void)numbers(flow).count(); });
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0].demand, TaskDemand{});
  EXPECT_EQ(stages[0].estimated_task_duration, 0s);
}

TEST(StageHints, OfOneStageTheLargestHold) {
  const auto stages = plan_of([](Flow& flow) {
    auto doubled = numbers(flow).demand({.cpu = 3}).estimate(2s).map([](std::uint64_t n) { return 2 * n; });
    (void)doubled.demand({.cpu = 1, .memory = 7}).estimate(1s, 2).filter([](std::uint64_t n) { return n > 3; }).count();
  });
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_EQ(stages[0].demand, (TaskDemand{.cpu = 3, .memory = 7}));
  EXPECT_EQ(stages[0].estimated_task_duration, 2s);
  EXPECT_EQ(stages[0].estimated_output_ratio, 2);
}

TEST(StageHints, OfUnionsAndOfJoinsInPlaceTheLargestHold) {
  const auto both = plan_of([](Flow& flow) {
    (void)numbers(flow).demand({.cpu = 2}).union_with(numbers(flow).demand({.memory = 5}).estimate(4s)).count();
  });
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].demand, (TaskDemand{.cpu = 2, .memory = 5}));
  EXPECT_EQ(both[0].estimated_task_duration, 4s);

  const auto joined = plan_of([](Flow& flow) {
    auto left = pairs(flow).reduce_by_key(std::plus<>()), right = pairs(flow).reduce_by_key(std::plus<>());
    (void)left.demand({.cpu = 2}).join(right.demand({.memory = 5})).count();
  });
  ASSERT_EQ(joined.size(), 3u);
  EXPECT_EQ(joined[2].demand, (TaskDemand{.cpu = 2, .memory = 5}));
}

TEST(StageHints, DoNotChangeWhatExecutorsMustArriveAt) {
  const auto count = [](const Dataset<std::uint64_t>& data) { (void)data.count(); };  // on one line: names of operators have it
  const auto plain = plan_of([&](Flow& flow) { count(numbers(flow)); });
  const auto hinted = plan_of([&](Flow& flow) { count(numbers(flow).demand({.cpu = 2}).estimate(1s)); });
  ASSERT_EQ(plain.size(), 1u);
  ASSERT_EQ(hinted.size(), 1u);
  EXPECT_EQ(plain[0].fingerprint, hinted[0].fingerprint);
}

TEST(StageHints, ImpossibleOnesAreRefused) {
  auto graph = std::make_shared<detail::DriverGraph>(detail::DriverSettings{});
  Flow flow(graph);
  const auto data = numbers(flow);
  EXPECT_THROW((void)data.demand({.cpu = -1}), std::invalid_argument);
  EXPECT_THROW((void)data.demand({.memory = std::numeric_limits<double>::infinity()}), std::invalid_argument);
  EXPECT_THROW((void)data.estimate(-1s), std::invalid_argument);
  EXPECT_THROW((void)data.estimate(1s, -0.5), std::invalid_argument);
  EXPECT_THROW((void)data.estimate(1s, std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
}

}  // namespace
}  // namespace weft::test

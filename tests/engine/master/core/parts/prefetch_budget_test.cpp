#include "engine/master/core/prefetch_budget.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using Partitions = std::vector<std::uint32_t>;
constexpr auto kOrder = schedulers::RoundOrder::by_submission;
const PrefetchBudget::Key kShuffle{JobId(1), StageId(0)};

/// Two rounds of two partitions of ten bytes on node 1.
PrefetchBudget two_rounds(std::uint64_t budget_bytes) {
  PrefetchBudget budget;
  budget.join(NodeId(1), budget_bytes);
  std::vector<PrefetchBudget::Place> places;
  for (std::uint32_t i = 0; i < 4; ++i) places.push_back({i, StageId(1), NodeId(1), i / 2, 10});
  budget.place(kShuffle, {0, schedulers::Time(0), JobId(1)}, places);
  return budget;
}

TEST(PrefetchBudget, DefersTheLaterRoundAndWantsItBackWhenTheFirstIsRead) {
  PrefetchBudget budget = two_rounds(30);
  ASSERT_TRUE(budget.due());
  auto changes = budget.decide(kOrder);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].deferred, (Partitions{2, 3}));
  EXPECT_EQ(budget.standing(kShuffle).rounds, 1u);
  EXPECT_EQ(budget.standing(kShuffle).bytes, 20u);
  EXPECT_FALSE(budget.due());
  budget.read(kShuffle, 0, StageId(1));
  EXPECT_FALSE(budget.due()) << "half a round frees nothing for a whole one";
  budget.read(kShuffle, 1, StageId(1));
  ASSERT_TRUE(budget.due());
  changes = budget.decide(kOrder);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].deferred.empty());
  EXPECT_EQ(budget.standing(kShuffle).returned, 1u);
}

TEST(PrefetchBudget, NothingIsDecidedWhileAllFitsOrNoNodeHasALimit) {
  EXPECT_FALSE(two_rounds(40).due());
  PrefetchBudget unlimited = two_rounds(0);
  EXPECT_FALSE(unlimited.limited());
  EXPECT_EQ(unlimited.places(), 0u);
}

TEST(PrefetchBudget, SizesThatGrowMakeADecisionDue) {
  PrefetchBudget budget = two_rounds(40);
  budget.resize(
      kShuffle, [](std::uint32_t, NodeId) { return std::uint64_t{11}; }, true);
  ASSERT_TRUE(budget.due());
  EXPECT_EQ(budget.decide(kOrder).size(), 1u);
}

TEST(PrefetchBudget, ANodeThatLeavesAndAJobThatEndsTakeTheirPlacesAlong) {
  PrefetchBudget budget = two_rounds(30);
  (void)budget.decide(kOrder);
  budget.leave(NodeId(1));
  EXPECT_EQ(budget.places(), 0u);
  PrefetchBudget other = two_rounds(30);
  (void)other.decide(kOrder);
  other.drop(kShuffle);
  EXPECT_EQ(other.places(), 0u);
  EXPECT_EQ(other.standing(kShuffle).evicted, 1u) << "what became of its rounds is known until the job is dropped";
  other.drop(JobId(1));
  EXPECT_EQ(other.standing(kShuffle).evicted, 0u);
}

}  // namespace
}  // namespace weft::master

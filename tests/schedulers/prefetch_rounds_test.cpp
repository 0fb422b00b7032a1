// Which units stay in memory: tables of who leaves first, properties on random clusters, and the steps that follow (SC-13).
#include "schedulers/prediction/prefetch_rounds.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "schedulers/builtin.hpp"

namespace weft::schedulers {
namespace {

using Budgets = std::map<NodeId, std::uint64_t>;

JobOrder job(std::uint64_t id) { return {0, Time(static_cast<std::int64_t>(id)), JobId(id)}; }

/// A unit of ten bytes on each of two nodes.
PrefetchRound unit(std::uint64_t of_job, std::uint32_t round, bool complete, std::uint32_t left) {
  return {job(of_job), StageId(0), round, complete, left, {{NodeId(1), 10}, {NodeId(2), 10}}};
}

/// Positions of the units that stay when so many fit.
std::vector<std::size_t> staying(const std::vector<PrefetchRound>& units, std::uint64_t fit, RoundOrder order) {
  const auto resident = resident_rounds(units, {{NodeId(1), 10 * fit}, {NodeId(2), 10 * fit}}, order);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < units.size(); ++i)
    if (resident[i]) positions.push_back(i);
  return positions;
}

using Positions = std::vector<std::size_t>;

TEST(PrefetchRounds, IncompleteOnesLeaveFirstThenTheLatestJobThenTheLatestRound) {
  const std::vector<PrefetchRound> units{unit(1, 0, false, 2), unit(1, 1, false, 2), unit(2, 1, true, 2),
                                         unit(2, 0, true, 2),  unit(3, 0, true, 1),  unit(4, 0, false, 1)};
  EXPECT_EQ(staying(units, 6, RoundOrder::by_submission), (Positions{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(staying(units, 5, RoundOrder::by_submission), (Positions{0, 1, 2, 3, 4})) << "incomplete, of the latest job";
  EXPECT_EQ(staying(units, 4, RoundOrder::by_submission), (Positions{0, 2, 3, 4})) << "incomplete, larger task ids";
  EXPECT_EQ(staying(units, 3, RoundOrder::by_submission), (Positions{2, 3, 4})) << "incomplete, though of the first job";
  EXPECT_EQ(staying(units, 2, RoundOrder::by_submission), (Positions{2, 3})) << "the latest job";
  EXPECT_EQ(staying(units, 1, RoundOrder::by_submission), (Positions{3})) << "the later round";
  EXPECT_EQ(staying(units, 0, RoundOrder::by_submission), (Positions{}));
}

TEST(PrefetchRounds, AFairSchedulersShuffleWithTheFewestUnitsLeftLeavesFirst) {
  const std::vector<PrefetchRound> units{unit(1, 4, true, 1), unit(2, 2, true, 3), unit(2, 3, true, 3),
                                         unit(2, 4, true, 3), unit(3, 3, true, 2), unit(3, 4, true, 2)};
  EXPECT_EQ(staying(units, 5, RoundOrder::by_rounds_left), (Positions{1, 2, 3, 4, 5}));
  EXPECT_EQ(staying(units, 4, RoundOrder::by_rounds_left), (Positions{1, 2, 3, 4}));
  EXPECT_EQ(staying(units, 2, RoundOrder::by_rounds_left), (Positions{1, 2}));
  EXPECT_EQ(staying(units, 2, RoundOrder::by_submission), (Positions{0, 1}));
}

TEST(PrefetchRounds, TheSchedulerSaysWhoseLeaveFirst) {
  for (const char* spec : {"fifo", "capacity", "sjf", "delay(inner=fifo)"})
    EXPECT_EQ(make_scheduler(spec).value()->round_order(), RoundOrder::by_submission) << spec;
  for (const char* spec : {"fair", "drf", "delay(inner=fair)", "cogrs(inner=fair)"})
    EXPECT_EQ(make_scheduler(spec).value()->round_order(), RoundOrder::by_rounds_left) << spec;
}

TEST(PrefetchRounds, APriorityGoesBeforeTheTimeOfSubmission) {
  std::vector<PrefetchRound> units{unit(1, 0, true, 1), unit(2, 0, true, 1)};
  units[1].job.priority = 1;
  EXPECT_EQ(staying(units, 1, RoundOrder::by_submission), (Positions{1}));
}

TEST(PrefetchRounds, BothInputsOfAJoinAreKeptRoundByRound) {
  std::vector<PrefetchRound> units{unit(1, 0, true, 2), unit(1, 1, true, 2), unit(1, 0, true, 2), unit(1, 1, true, 2)};
  units[2].stage = units[3].stage = StageId(1);
  EXPECT_EQ(staying(units, 2, RoundOrder::by_submission), (Positions{0, 2}));
}

TEST(PrefetchRounds, OneFullNodeKeepsAUnitOutEverywhereAndUnitsOfOtherNodesIn) {
  std::vector<PrefetchRound> units{unit(1, 0, true, 2), unit(1, 1, true, 2), unit(2, 0, true, 1)};
  units[2].bytes = {{NodeId(3), 1000}};
  EXPECT_EQ(resident_rounds(units, {{NodeId(1), 100}, {NodeId(2), 19}, {NodeId(3), 1000}}, RoundOrder::by_submission),
            (std::vector<bool>{true, false, true}));
}

TEST(PrefetchRounds, WhatIsLargerThanANodeIsNeverInAndNothingWaitsBehindIt) {
  std::vector<PrefetchRound> units{unit(1, 0, true, 2), unit(1, 1, true, 2)};
  units[0].bytes[1].second = 21;
  EXPECT_EQ(staying(units, 2, RoundOrder::by_submission), (Positions{1}));
}

TEST(PrefetchRounds, ANodeWithoutABudgetHasNoLimit) {
  const std::vector<PrefetchRound> units{unit(1, 0, true, 2), unit(1, 1, true, 2)};
  EXPECT_EQ(resident_rounds(units, {}, RoundOrder::by_submission), (std::vector<bool>{true, true}));
  EXPECT_EQ(resident_rounds(units, {{NodeId(2), 10}}, RoundOrder::by_submission), (std::vector<bool>{true, false}));
}

struct RoundWorld {
  std::vector<PrefetchRound> units;
  Budgets budgets;
  RoundOrder order;
};

RoundWorld random_world(Random& random) {
  RoundWorld world;
  world.order = random.below(2) == 0 ? RoundOrder::by_submission : RoundOrder::by_rounds_left;
  const auto nodes = static_cast<std::uint32_t>(1 + random.below(6));
  for (std::uint32_t node = 1; node <= nodes; ++node)
    if (random.below(5) > 0) world.budgets[NodeId(node)] = 50 + random.below(300);
  for (std::uint64_t of_job = 1; of_job <= 1 + random.below(4); ++of_job) {
    const auto rounds = static_cast<std::uint32_t>(1 + random.below(5));
    const bool complete = random.below(2) == 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      PrefetchRound made{job(of_job), StageId(0), round, complete, rounds, {}};
      for (std::uint32_t node = 1; node <= nodes; ++node)
        if (random.below(4) > 0) made.bytes.emplace_back(NodeId(node), random.below(100));
      world.units.push_back(std::move(made));
    }
  }
  return world;
}

std::vector<bool> resident(const RoundWorld& world) { return resident_rounds(world.units, world.budgets, world.order); }

Budgets taken(const RoundWorld& world) {
  Budgets sums;
  const auto in = resident(world);
  for (std::size_t i = 0; i < in.size(); ++i)
    for (const auto& [node, bytes] : world.units[i].bytes) sums[node] += in[i] ? bytes : 0;
  return sums;
}

/// Whether some unit is larger than a node's budget by itself.
bool impossible(const RoundWorld& world, const PrefetchRound& unit) {
  return std::any_of(unit.bytes.begin(), unit.bytes.end(), [&](const auto& there) {
    const auto budget = world.budgets.find(there.first);
    return budget != world.budgets.end() && there.second > budget->second;
  });
}

class RandomUnits : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomUnits, NeverTakeMoreThanANodeHasAndAreNotKeptOutWithoutNeed) {
  Random random(GetParam());
  for (int i = 0; i < 200; ++i) {
    const RoundWorld world = random_world(random);
    for (const auto& [node, bytes] : taken(world)) {
      const auto budget = world.budgets.find(node);
      EXPECT_TRUE(budget == world.budgets.end() || bytes <= budget->second) << bytes;
    }
    Budgets wanted;
    for (const PrefetchRound& unit : world.units) {
      for (const auto& [node, bytes] : unit.bytes) wanted[node] += impossible(world, unit) ? 0 : bytes;
    }
    const bool plenty = std::all_of(world.budgets.begin(), world.budgets.end(),
                                    [&](const auto& budget) { return wanted[budget.first] <= budget.second; });
    const auto in = resident(world);
    for (std::size_t at = 0; plenty && at < in.size(); ++at) EXPECT_EQ(in[at], !impossible(world, world.units[at]));
  }
}

TEST_P(RandomUnits, KeepTheirPlaceWhenAnotherIsReadAndWhenThereIsMoreMemory) {
  Random random(GetParam());
  for (int i = 0; i < 200; ++i) {
    const RoundWorld world = random_world(random);
    const auto before = resident(world);
    RoundWorld less = world;
    const std::size_t gone = random.below(world.units.size());
    less.units.erase(less.units.begin() + static_cast<std::ptrdiff_t>(gone));
    const auto after = resident(less);
    for (std::size_t at = 0; at < after.size(); ++at) EXPECT_LE(before[at < gone ? at : at + 1], after[at]);

    RoundWorld more = world;
    for (auto& [node, budget] : more.budgets) budget += random.below(200);
    const bool same = std::none_of(world.units.begin(), world.units.end(),
                                   [&](const PrefetchRound& unit) { return impossible(world, unit) && !impossible(more, unit); });
    const auto roomier = resident(more);
    for (std::size_t at = 0; same && at < before.size(); ++at) EXPECT_LE(before[at], roomier[at]);
  }
}

TEST_P(RandomUnits, DoNotDependOnTheOrderTheyAreGivenIn) {
  Random random(GetParam());
  for (int i = 0; i < 200; ++i) {
    const RoundWorld world = random_world(random);
    RoundWorld turned = world;
    std::reverse(turned.units.begin(), turned.units.end());
    auto in = resident(turned);
    std::reverse(in.begin(), in.end());
    EXPECT_EQ(in, resident(world));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomUnits, testing::Values(1, 2, 3, 4, 5));

/// A stage of five rounds on four nodes of two slots. A reduce computes for 3 s and, where its blocks are not in memory, waits 2 s
/// for them first; a round ends with its slowest reduce.
struct Stage {
  static constexpr std::uint32_t kNodes = 4, kRounds = 5;
  static constexpr std::uint64_t kUnitBytes = 100;  // on a node
  static constexpr double kCompute = 3, kFetch = 2;

  static double round(bool whole) { return kCompute + (whole ? 0 : kFetch); }
  /// With that part of the shuffle in the nodes' memory, whole rounds of it.
  static double in_units(double part) {
    std::vector<PrefetchRound> units;
    Budgets budgets;
    for (std::uint32_t node = 1; node <= kNodes; ++node)
      budgets[NodeId(node)] = static_cast<std::uint64_t>(part * kRounds * kUnitBytes + 1e-6);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      PrefetchRound& unit = units.emplace_back(PrefetchRound{job(1), StageId(0), round, true, kRounds, {}});
      for (std::uint32_t node = 1; node <= kNodes; ++node) unit.bytes.emplace_back(NodeId(node), kUnitBytes);
    }
    double time = 0;
    for (const bool in : resident_rounds(units, budgets, RoundOrder::by_submission)) time += round(in);
    return time;
  }
  /// The same part of every round's blocks instead.
  static double in_blocks(double part) { return kRounds * round(part >= 1); }
};

TEST(PrefetchRounds, GainInStepsOfWholeRounds) {
  std::set<double> times;
  double before = Stage::kRounds * Stage::round(false);
  for (std::uint32_t percent = 0; percent <= 100; ++percent) {
    const double part = percent / 100.0, time = Stage::in_units(part);
    const auto whole = static_cast<double>(percent * Stage::kRounds / 100);
    EXPECT_DOUBLE_EQ(time, Stage::kRounds * Stage::round(false) - whole * Stage::kFetch) << percent << " %";
    EXPECT_LE(time, before);
    EXPECT_LE(time, Stage::in_blocks(part));
    times.insert(before = time);
  }
  EXPECT_EQ(times.size(), std::size_t{Stage::kRounds} + 1) << "a step for each round, and none between";
}

}  // namespace
}  // namespace weft::schedulers

// Utilities of jobs, and the placement of job slots: worked examples of chapters 4 and 5 of Polo's thesis.
#include "schedulers/parts/slot_matrix.hpp"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "schedulers/parts/utility.hpp"

namespace weft::schedulers::slot_matrix_rules {
namespace {

TEST(MapUtility, IsZeroAtWhatTheGoalNeedsAndOneWithSlotsForAllTasks) {  // RA-7
  EXPECT_NEAR(map_utility(20, 20, 35) + reduce_utility(10, 10), 0, 1e-12);
  EXPECT_NEAR(map_utility(35, 20, 35) + reduce_utility(10, 10), 1, 1e-12);
  EXPECT_NEAR(map_utility(1, 20, 35) + reduce_utility(10, 10), -1, 1e-12);
  EXPECT_NEAR(map_utility(20, 20, 35) + reduce_utility(1, 10), -1, 1e-12);
  EXPECT_NEAR(map_utility(10, 20, 35), std::log(10) / std::log(20) - 1, 1e-12);
  EXPECT_NEAR(map_utility(27.5, 20, 35), 0.5, 1e-12);
}

TEST(MapUtility, HasSensibleEnds) {
  EXPECT_DOUBLE_EQ(map_utility(0, 20, 35), kStarvedUtility);
  EXPECT_DOUBLE_EQ(map_utility(1, 0.3, 10), 0) << "one slot is enough for a goal that is far away";
  EXPECT_DOUBLE_EQ(map_utility(5, 0.3, 5), 1);
  EXPECT_DOUBLE_EQ(map_utility(4, 100, 4), 1) << "there is nothing more to give, though the goal will be missed";
  EXPECT_NEAR(map_utility(2, 100, 4), -0.5, 1e-12);
  EXPECT_DOUBLE_EQ(reduce_utility(0, 0), 0);
  EXPECT_DOUBLE_EQ(reduce_utility(0, 1), -1);
  EXPECT_DOUBLE_EQ(reduce_utility(1, 1), 0);
}

TEST(ReverseUtility, PutsWhatCannotWaitBeforeThePaceAndThatBeforeTheRest) {  // RV-7
  EXPECT_NEAR(reverse_utility(10, 10, 15, 35), 0, 1e-12);
  EXPECT_NEAR(reverse_utility(15, 10, 15, 35), 0.5, 1e-12);
  EXPECT_NEAR(reverse_utility(35, 10, 15, 35), 1, 1e-12);
  EXPECT_NEAR(reverse_utility(12.5, 10, 15, 35), 0.25, 1e-12);
  EXPECT_NEAR(reverse_utility(25, 10, 15, 35), 0.75, 1e-12);
  EXPECT_NEAR(reverse_utility(1, 10, 15, 35), -1, 1e-12);
  EXPECT_NEAR(reverse_utility(20, 15, 10, 35), 0.25, 1e-12) << "less is required than must run now";
  EXPECT_DOUBLE_EQ(reverse_utility(0, 0, 15, 35), 0) << "everything can wait";
  EXPECT_DOUBLE_EQ(reverse_utility(0, 3, 15, 35), kStarvedUtility);
}

TEST(Utilities, GrowWithTheSlotsUpToOne) {
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const double pending = 1 + static_cast<double>(random.below(60));
    const double required = random.uniform() * 80, fit = random.chance(0.3) ? 0 : random.uniform() * pending;
    double of_map = -100, of_reverse = -100;
    for (double slots = 0; slots <= pending; ++slots) {
      const double map = map_utility(slots, required, pending), reverse = reverse_utility(slots, fit, required, pending);
      EXPECT_GE(map, of_map - 1e-12) << required << " of " << pending;
      EXPECT_GE(reverse, of_reverse - 1e-12) << fit << ", " << required << " of " << pending << " at " << slots;
      EXPECT_LE(std::max(map, reverse), 1);
      of_map = map;
      of_reverse = reverse;
    }
    EXPECT_DOUBLE_EQ(of_map, 1);
    EXPECT_DOUBLE_EQ(of_reverse, 1);
  }
}

// ---- the placement -----------------------------------------------------------------------------------------------------------

SlotDemand takes(double cpu, double disk, double memory) { return {{.cpu = cpu, .memory = memory, .disk_read = disk}, {.cpu = 1}}; }
const SlotDemand kSort = takes(0.30, 0.45, 0.25), kCombine = takes(0.25, 0.10, 0.10), kSelect = takes(0.15, 0.20, 0.10),
                 kSortReduce = takes(0.05, 0.01, 0.60);

std::vector<SlotNode> nodes(std::size_t count, double core_capacity = 100) {
  return std::vector<SlotNode>(count, SlotNode{{{.cpu = 1, .memory = 1, .disk_read = 1}, {.cpu = core_capacity}}});
}
SlotJob maps(const SlotDemand& task, std::uint32_t pending) { return {task, {}, pending, 0}; }

/// By the part of its tasks that has slots.
SlotMatrix::Utility by_part(const std::vector<SlotJob>& jobs) {
  return [jobs](std::uint32_t job, std::uint32_t slots, std::uint32_t early) {
    return map_utility(slots, 1, jobs[job].pending) + reduce_utility(early, jobs[job].early_pending);
  };
}

TEST(SlotMatrix, GivesANodeAsManyTasksAsFitIt) {  // Table 4.2: two sorts by the disk, four combines by the processor, five selects
  for (const auto& [task, most] : {std::pair(kSort, 2u), std::pair(kCombine, 4u), std::pair(kSelect, 5u)}) {
    const std::vector<SlotJob> jobs{maps(task, 1000)};
    SlotMatrix matrix(jobs, nodes(20), by_part(jobs));
    matrix.place(10);
    EXPECT_EQ(matrix.slots(0), 20 * most);
  }
  const std::vector<SlotJob> jobs{maps(kSelect, 1000)};
  SlotMatrix matrix(jobs, nodes(20, 3), by_part(jobs));
  matrix.place(10);
  EXPECT_EQ(matrix.slots(0), 60u) << "the master has cores for three tasks a node";
}

TEST(SlotMatrix, SpreadsFewTasksOverTheNodes) {
  const std::vector<SlotJob> jobs{maps(kCombine, 7)};
  SlotMatrix matrix(jobs, nodes(5), by_part(jobs));
  matrix.place(10);
  for (std::uint32_t n = 0; n < 5; ++n) EXPECT_EQ(matrix.at(n).at(0).slots, n < 2 ? 2u : 1u);
}

TEST(SlotMatrix, RaisesTheLowestUtility) {
  // One node, room for four combines: 3 / 29 and nothing, 2 / 29 and 0, or 1 / 29 and 1 / 9.
  const std::vector<SlotJob> jobs{maps(kCombine, 30), maps(kCombine, 10)};
  SlotMatrix matrix(jobs, nodes(1), by_part(jobs));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(matrix.hold(0, 0, false));
  matrix.place(10);
  EXPECT_EQ(matrix.slots(0), 2u);
  EXPECT_EQ(matrix.slots(1), 2u);
}

TEST(SlotMatrix, TakesNothingAwayWhereTheLowestWouldNotBecomeHigher) {
  const std::vector<SlotJob> jobs{maps(kCombine, 4), maps(kCombine, 4)};
  SlotMatrix matrix(jobs, nodes(1), by_part(jobs));
  for (int i = 0; i < 2; ++i) {
    matrix.hold(0, 0, false);
    matrix.hold(0, 1, false);
  }
  matrix.place(10);
  EXPECT_EQ(matrix.slots(0), 2u);
  EXPECT_EQ(matrix.slots(1), 2u);
}

TEST(SlotMatrix, FillsWhatTheDiskLeavesWithTasksOfTheProcessor) {
  // Two sorts take 0.9 of the disk and 0.6 of the processor; a combine fits beside them.
  const std::vector<SlotJob> jobs{maps(kSort, 2), maps(kCombine, 100)};
  SlotMatrix matrix(jobs, nodes(1), [](std::uint32_t job, std::uint32_t slots, std::uint32_t) {
    return job == 0 ? map_utility(slots, 2, 2) : map_utility(slots, 1, 100);
  });
  matrix.place(10);
  EXPECT_EQ(matrix.slots(0), 2u);
  EXPECT_EQ(matrix.slots(1), 1u);
}

TEST(SlotMatrix, BusyProcessorsKeepNobodyAwayWhoTakesMoreOfTheDisk) {
  // One task fills the processors. Tasks that take a tenth of them and half of the disk run beside it: two, and one for the part of
  // a task that need not fit. Without overcommitting none does.
  const std::vector<SlotJob> jobs{maps(takes(1, 0, 0), 10), maps(takes(0.1, 0.4, 0), 10), maps(takes(0.2, 0.1, 0), 10)};
  for (const auto& [part, beside] : {std::pair(2.0 / 3, 3u), std::pair(0.0, 0u)}) {
    SlotMatrix matrix(jobs, nodes(1), by_part(jobs), {part});
    ASSERT_TRUE(matrix.hold(0, 0, false));
    matrix.place(0);
    EXPECT_EQ(matrix.slots(1), beside);
    EXPECT_EQ(matrix.slots(2), 0u) << "it takes most of the processors";
  }
}

TEST(SlotMatrix, NothingIsOvercommittedByMoreThanThatPartOfTheNode) {
  const std::vector<SlotJob> jobs{maps(takes(1, 0, 0), 1), maps(takes(0.09, 0.1, 0), 20)};
  SlotMatrix matrix(jobs, nodes(1), by_part(jobs), {0.5});
  ASSERT_TRUE(matrix.hold(0, 0, false));
  matrix.place(0);
  EXPECT_EQ(matrix.slots(1), 5u) << "the processors have half a node to give beyond their own";
}

TEST(SlotMatrix, MemoryIsNeverOvercommitted) {
  const std::vector<SlotJob> jobs{maps(takes(0, 0, 1), 1), maps(takes(0, 0.4, 0.1), 10)};
  SlotMatrix matrix(jobs, nodes(1), by_part(jobs), {2.0 / 3});
  ASSERT_TRUE(matrix.hold(0, 0, false));
  matrix.place(0);
  EXPECT_EQ(matrix.slots(1), 0u);
}

TEST(SlotMatrix, PlacesReadersFirstAndEvenly) {
  std::vector<SlotJob> jobs{maps(kSort, 100), maps(kSort, 100)};
  for (SlotJob& job : jobs) {
    job.early = takes(0.01, 0.01, 0.30);
    job.early_pending = 4;
  }
  SlotMatrix matrix(jobs, nodes(4), by_part(jobs));
  matrix.place(10);
  for (std::uint32_t n = 0; n < 4; ++n) {
    std::uint32_t readers = 0;
    for (const auto& cell : matrix.at(n)) {
      EXPECT_EQ(cell.early, 1u) << "one of each job";
      readers += cell.early;
    }
    EXPECT_EQ(readers, 2u);
  }
  EXPECT_EQ(matrix.slots(0) + matrix.slots(1), 4u) << "the memory that is left holds one map a node";
}

TEST(SlotMatrix, LeavesReadersWithoutRoomOut) {
  std::vector<SlotJob> jobs{maps(kSelect, 3)};
  jobs[0].early = kSortReduce;
  jobs[0].early_pending = 5;
  SlotMatrix matrix(jobs, nodes(3), by_part(jobs));
  matrix.place(10);
  EXPECT_EQ(matrix.early(0), 3u);
}

TEST(SlotMatrix, ANodeThatIsOverfullGetsNothing) {
  const std::vector<SlotJob> jobs{maps(kSort, 10), maps(kSelect, 10)};
  SlotMatrix matrix(jobs, nodes(1),
                    [](std::uint32_t job, std::uint32_t slots, std::uint32_t) { return map_utility(slots, job == 0 ? 8 : 1, 10); });
  for (int i = 0; i < 5; ++i) matrix.hold(0, 0, false);
  matrix.place(10);
  EXPECT_EQ(matrix.slots(0) + matrix.slots(1), 5u) << "what runs goes on, and nobody gets what is not there";
}

/// Whatever is placed fits, nobody gets more than it has tasks, and no room is left that somebody could use.
TEST(SlotMatrix, KeepsWithinNodesAndLeavesNothing) {
  Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<SlotJob> jobs(1 + random.below(8));
    for (SlotJob& job : jobs) {
      job.task = takes(0.05 + random.uniform() / 2, random.uniform() / 2, random.uniform() / 2);
      job.pending = static_cast<std::uint32_t>(random.below(30));
      job.early = takes(0.01, 0.05, random.uniform() / 2);
      job.early_pending = static_cast<std::uint32_t>(random.below(4));
    }
    const auto count = static_cast<std::uint32_t>(1 + random.below(6));
    SlotMatrix matrix(jobs, nodes(count, 6), by_part(jobs));
    matrix.place(10);
    std::vector<std::uint32_t> slots(jobs.size());
    for (std::uint32_t n = 0; n < count; ++n) {
      Resources use, demand;
      for (const auto& cell : matrix.at(n)) {
        slots[cell.job] += cell.slots;
        use += jobs[cell.job].task.use * cell.slots + jobs[cell.job].early.use * cell.early;
        demand += jobs[cell.job].task.demand * (cell.slots + cell.early);
      }
      EXPECT_LE(std::max({use.cpu, use.memory, use.disk_read}), 1 + 1e-6);
      EXPECT_LE(demand.cpu, 6 + 1e-6);
      for (std::uint32_t j = 0; j < jobs.size(); ++j) {
        EXPECT_FALSE(matrix.slots(j) < jobs[j].pending && matrix.fits(n, j, false)) << "trial " << trial;
      }
    }
    for (std::uint32_t j = 0; j < jobs.size(); ++j) {
      EXPECT_EQ(slots[j], matrix.slots(j));
      EXPECT_LE(matrix.slots(j), jobs[j].pending);
      EXPECT_LE(matrix.early(j), jobs[j].early_pending);
    }
  }
}

}  // namespace
}  // namespace weft::schedulers::slot_matrix_rules

// What is left of jobs, how many slots they need for it, and how long that takes: the worked examples of Polo's thesis, chapter 3.
#include "schedulers/prediction/work_left.hpp"

#include <limits>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::work_left_rules {
namespace {

using std::chrono::seconds;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// One job on nodes of one slot, and its stages.
struct Job {
  World world;
  JobInfo* job;
  explicit Job(std::uint32_t nodes) : job(&world.job(1)) {
    for (std::uint32_t i = 1; i <= nodes; ++i) world.node(i, "h" + std::to_string(i), "r", 1);
  }
  void measured(std::uint32_t stage, double mean, std::uint64_t tasks) {
    StageInfo& info = job->stages.at(StageId(stage));
    info.observed_count = tasks;
    info.observed_total = Time(static_cast<std::int64_t>(mean * 1e9)) * static_cast<std::int64_t>(tasks);
  }
  PhaseLeft left(std::uint32_t stage = 0) { return stage_left(world.state, *job, job->stages.at(StageId(stage))).value(); }
};

TEST(WorkLeft, IsEquationOneOfTheThesis) {
  Job one(4);
  one.world.stage(*one.job, 0, anywhere(12));
  one.world.schedule();
  one.world.at(4);
  for (std::size_t i = 0; i < 2; ++i) one.world.finish(one.world.launched[i].task);
  one.world.schedule();  // two more, launched at 4
  one.world.at(8);
  one.measured(0, 10, 2);
  // Elapsed 8, 8, 4, 4 of 10: 2 + 2 + 6 + 6 = 16 s are left of those that run, and six wait.
  const PhaseLeft left = one.left();
  EXPECT_DOUBLE_EQ(left.work, 16 + 6 * 10);
  EXPECT_DOUBLE_EQ(left.tasks, 10);
  EXPECT_DOUBLE_EQ(left.waiting, 6);
  EXPECT_DOUBLE_EQ(slots_needed(std::array{left}, 38) - 4, (1.6 + 6) / 38 * 10 - 4) << "two too many run";
  EXPECT_DOUBLE_EQ(slots_needed(std::array{left}, 38), 2);
}

TEST(WorkLeft, OfATaskThatRunsForLongerThanTheMeanIsNothing) {
  Job one(1);
  one.world.stage(*one.job, 0, anywhere(2));
  one.world.schedule();
  one.measured(0, 10, 1);
  one.world.at(25);
  EXPECT_DOUBLE_EQ(one.left().work, 10);
}

TEST(WorkLeft, CanEndNoEarlierThanTheTaskThatHasMostLeft) {
  Job one(2);
  one.world.stage(*one.job, 0, anywhere(3), {.cpu = 1}, 10);
  one.world.schedule();
  one.world.at(4);
  EXPECT_DOUBLE_EQ(one.left().longest, 10) << "one waits";
  one.world.finish(one.world.launched[0].task);
  one.measured(0, 10, 1);
  one.world.schedule();
  one.world.at(5);
  EXPECT_DOUBLE_EQ(one.left().longest, 9);
  EXPECT_DOUBLE_EQ(one.left().work, 9 + 5);
}

TEST(WorkLeft, IsNotKnownBeforeATaskHasEnded) {
  Job one(1);
  StageInfo& stage = one.world.stage(*one.job, 0, anywhere(2));
  EXPECT_FALSE(stage_left(one.world.state, *one.job, stage));
  const WorkLeft left = work_left(one.world.state, *one.job);
  EXPECT_EQ(left.unknown, 1u);
  EXPECT_EQ(left.seconds(), 0);
}

TEST(WorkLeft, MeasuredLengthsCountBeforeWhatTheProgramSays) {
  Job one(1);
  one.world.stage(*one.job, 0, anywhere(3), {.cpu = 1}, 10);
  EXPECT_DOUBLE_EQ(one.left().work, 30);
  one.measured(0, 30, 1);
  EXPECT_DOUBLE_EQ(one.left().work, 90);
}

TEST(WorkLeft, WhatRunsForLongerThanIsSaidTakesAtLeastSoLong) {
  Job one(1);
  one.world.stage(*one.job, 0, anywhere(3), {.cpu = 1}, 10);
  one.world.schedule();
  one.world.at(30);
  EXPECT_DOUBLE_EQ(one.left().longest, 30);
  EXPECT_DOUBLE_EQ(one.left().work, 60) << "two wait, and the one that runs should end now";
}

TEST(WorkLeft, HistoryCountsWhereTheProgramSaysNothing) {
  Job one(1);
  StageInfo& stage = one.world.stage(*one.job, 0, anywhere(3));
  stage.profile.emplace().constant = seconds(7);
  EXPECT_DOUBLE_EQ(one.left().work, 21);
}

TEST(WorkLeft, ReducesTakeWhatMapsTakeTimesTheirRelativeCost) {
  Job one(1);
  one.world.stage(*one.job, 0, anywhere(4), {.cpu = 1}, 10).writes_shuffle = true;
  one.world.stage(*one.job, 1, anywhere(2), {.cpu = 1}, 0, {0});
  EXPECT_DOUBLE_EQ(one.left(1).work, 20);
  one.job->hints.relative_reduce_cost = 2.5;
  EXPECT_DOUBLE_EQ(one.left(1).work, 50);
}

TEST(WorkLeft, StagesSideBySideAreOnePhase) {
  Job one(1);
  one.world.stage(*one.job, 0, anywhere(4), {.cpu = 1}, 10);
  one.world.stage(*one.job, 1, anywhere(1), {.cpu = 1}, 20);
  one.world.stage(*one.job, 2, anywhere(2), {.cpu = 1}, 5, {0, 1});
  one.world.stage(*one.job, 3, anywhere(1), {.cpu = 1}, 1, {2});
  const WorkLeft left = work_left(one.world.state, *one.job);
  ASSERT_EQ(left.phases.size(), 3u);
  EXPECT_DOUBLE_EQ(left.phases[0].work, 60);
  EXPECT_DOUBLE_EQ(left.phases[0].longest, 20);
  EXPECT_DOUBLE_EQ(left.phases[0].tasks, 5);
  EXPECT_DOUBLE_EQ(left.phases[0].waiting, 5);
  EXPECT_DOUBLE_EQ(left.phases[1].work, 10);
  EXPECT_DOUBLE_EQ(left.seconds(), 71);
}

TEST(WorkLeft, OfADoneStageIsNothingAndLaterPhasesMoveUp) {
  Job one(2);
  one.world.stage(*one.job, 0, anywhere(2), {.cpu = 1}, 10);
  one.world.stage(*one.job, 1, anywhere(2), {.cpu = 1}, 5, {0});
  one.world.schedule();
  one.world.at(10);
  for (std::size_t i = 0; i < 2; ++i) one.world.finish(one.world.launched[i].task);
  const WorkLeft left = work_left(one.world.state, *one.job);
  ASSERT_EQ(left.phases.size(), 1u);
  EXPECT_DOUBLE_EQ(left.phases[0].work, 10);
}

TEST(Seconds, AreWorkOverSlotsAndAtLeastTheLongestTask) {
  const std::array phases{PhaseLeft{600, 60, 10}, PhaseLeft{40, 4, 10}};
  EXPECT_DOUBLE_EQ(seconds_with(phases, 1), 640);
  EXPECT_DOUBLE_EQ(seconds_with(phases, 20), 30 + 10) << "of the reduces only four can run";
  EXPECT_DOUBLE_EQ(seconds_with(phases, 1000), 10 + 10);
  EXPECT_EQ(seconds_with(phases, 0), kNever);
}

TEST(Slots, LeaveLaterPhasesTheirTime) {
  const std::array phases{PhaseLeft{600, 60, 10}, PhaseLeft{40, 4, 10}};
  EXPECT_NEAR(slots_needed(phases, 40), 20, 1e-6);  // 30 + 10
  EXPECT_NEAR(slots_needed(phases, 640), 1, 1e-6);
  EXPECT_NEAR(slots_needed(phases, 320), 2, 1e-6);
}

TEST(Slots, ThatNoNumberOfThemIsEnoughIsMoreThanAnyUse) {
  const std::array phases{PhaseLeft{600, 60, 10}, PhaseLeft{40, 4, 10}};
  EXPECT_EQ(slots_needed(phases, 10), kMostWaves * 60);
  EXPECT_EQ(slots_needed(phases, 0), kMostWaves * 60);
  EXPECT_EQ(slots_needed(phases, -5), kMostWaves * 60);
}

TEST(Slots, OfNothingAreNone) {
  EXPECT_EQ(slots_needed({}, 10), 0);
  EXPECT_EQ(slots_needed(std::array{PhaseLeft{}}, 10), 0);
  EXPECT_DOUBLE_EQ(slots_needed(std::array{PhaseLeft{}, PhaseLeft{40, 4, 10}}, 20), 2) << "a phase that is done is passed over";
}

TEST(HardwareAffinity, TenAcceleratedSlotsAndTenRegularOnesDoWhatFifteenWould) {
  EXPECT_DOUBLE_EQ(slots_elsewhere(15, 10, 100.0 / 50), 10);
  EXPECT_EQ(slots_elsewhere(8, 10, 2), 0);
}

}  // namespace
}  // namespace weft::schedulers::work_left_rules

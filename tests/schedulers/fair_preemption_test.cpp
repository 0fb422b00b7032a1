// What the fair scheduler kills and when, and who is next, by the rules of Hadoop's: weights, halves, clocks, intervals, gaps.
#include "schedulers/parts/fair_preemption.hpp"

#include <tuple>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::fair_preemption_rules {
namespace {

void submit(World& world, std::uint64_t id, const std::string& pool, std::size_t tasks, double weight = 1) {
  JobInfo& job = world.job(id, "", pool);
  job.hints.weight = weight;
  world.stage(job, 0, anywhere(tasks));
}
/// The same, and it gets what is free.
void run(World& world, std::uint64_t id, const std::string& pool, std::size_t tasks, double weight = 1) {
  submit(world, id, pool, tasks, weight);
  world.schedule();
}
void schedule_at(World& world, double seconds) {
  world.at(seconds);
  world.schedule();
}
/// A cluster of one node, and pools with options of one line each.
struct Pools {
  World world;
  Pools(double slots, const std::string& spec, const std::vector<std::pair<std::string, std::string>>& pools)
      : world(fmt::format("fair({}{}pools=p.toml)", spec, spec.empty() ? "" : ", "), {{"p.toml", text(pools)}}) {
    world.node(1, "a", "r", slots);
  }
  static std::string text(const std::vector<std::pair<std::string, std::string>>& pools) {
    std::string all;
    for (const auto& [name, more] : pools) all += fmt::format("[[pool]]\nname = \"{}\"\n{}\n", name, more);
    return all;
  }
};
std::size_t losses(const World& world, std::uint64_t job) {
  std::size_t count = 0;
  for (const AttemptId& attempt : world.preempted) count += attempt.task.job == JobId(job) ? 1 : 0;
  return count;
}

TEST(FairOrder, JobsOfAPoolShareByWeight) {
  World world("fair");
  world.node(1, "a", "r", 12);
  submit(world, 1, "p", 100, 3);
  submit(world, 2, "p", 100, 1);
  world.schedule();
  EXPECT_EQ(world.running(1), 9u);
  EXPECT_EQ(world.running(2), 3u);
}

TEST(FairOrder, OfTwoNeedyPoolsTheOneWithTheSmallerPartOfItsMinimumIsNext) {
  Pools pools(5, "", {{"large", "min_share = 6"}, {"small", "min_share = 2"}});
  submit(pools.world, 1, "large", 100);
  submit(pools.world, 2, "small", 100);
  pools.world.schedule();
  EXPECT_EQ(pools.world.order(), "12111") << "0 0, 1/6 0, 1/6 1/2, 2/6 1/2, 3/6 1/2";
}

TEST(FairOrder, ALimitOfRunningJobsHoldsForAllPoolsBelow) {
  Pools pools(8, "", {{"above", "max_running_jobs = 2"}, {"left", "parent = \"above\""}, {"right", "parent = \"above\""}});
  submit(pools.world, 1, "left", 2);
  submit(pools.world, 2, "right", 2);
  submit(pools.world, 3, "left", 2);
  pools.world.schedule();
  EXPECT_EQ(pools.world.running(1) + pools.world.running(2), 4u);
  EXPECT_EQ(pools.world.running(3), 0u);
}

TEST(FairOrder, AJobThatRunsKeepsItsPlaceInAPoolThatLimitsItsJobs) {
  Pools pools(2, "", {{"p", "max_running_jobs = 1"}});
  World& world = pools.world;
  run(world, 1, "p", 3);
  world.stage(world.job(2, "", "p", 5), 0, anywhere(3));
  world.finish(world.launched[0].task);
  world.schedule();
  EXPECT_EQ(world.order(), "111") << "though the other has a higher priority";
}

TEST(FairPreemption, HalfOfAFairShareIsEnough) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=5s)");
  world.node(1, "a", "r", 8);
  run(world, 1, "a", 6);
  run(world, 2, "b", 100);
  run(world, 3, "a", 100);
  ASSERT_EQ(world.running(2), 2u) << "of a share of four";
  for (double now : {1.0, 10.0, 100.0}) schedule_at(world, now);
  EXPECT_TRUE(world.preempted.empty());
}

TEST(FairPreemption, LessThanHalfIsBroughtToTheWholeShareByKillingWhatItLacks) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=5s)");
  world.node(1, "a", "r", 8);
  run(world, 1, "a", 7);
  run(world, 2, "b", 100);
  run(world, 3, "a", 100);
  ASSERT_EQ(world.running(2), 1u);
  for (double now : {1.0, 7.0}) schedule_at(world, now);
  EXPECT_EQ(world.preempted.size(), 3u);
  EXPECT_EQ(world.running(2), 4u);
}

TEST(FairPreemption, KillsTheGapAndNoMoreThoughAThirdPoolLacksAsWell) {
  // Twelve slots, shares of four: x is far above, y has half of its share and does not starve.
  for (const auto& [options, before, gap] :
       {std::tuple("min_share = 4\nmin_share_timeout = \"5s\"", 2u, 2u), std::tuple("fair_share_timeout = \"5s\"", 1u, 3u),
        std::tuple("min_share = 2\nmin_share_timeout = \"5s\"\nfair_share_timeout = \"5s\"", 1u, 3u)}) {
    SCOPED_TRACE(options);
    Pools pools(12, "preemption=true, interval=100s", {{"prod", options}, {"x", ""}, {"y", ""}});
    World& world = pools.world;
    run(world, 1, "x", 10 - before);
    run(world, 2, "y", 2);
    run(world, 3, "prod", 100);
    ASSERT_EQ(world.running(3), before);
    submit(world, 4, "x", 100);
    submit(world, 5, "y", 100);
    for (double now : {1.0, 101.0}) schedule_at(world, now);
    EXPECT_EQ(world.preempted.size(), gap);
    EXPECT_EQ(losses(world, 1), gap);
  }
}

TEST(FairPreemption, APoolBelowAStarvedOneIsNotFedOnceMore) {
  Pools pools(12, "preemption=true, interval=100s",
              {{"above", "fair_share_timeout = \"5s\""}, {"below", "parent = \"above\""}, {"x", ""}, {"y", ""}});
  World& world = pools.world;
  run(world, 1, "x", 10);
  run(world, 2, "y", 100);
  ASSERT_EQ(world.running(2), 2u);
  submit(world, 3, "below", 100);
  submit(world, 4, "x", 100);
  for (double now : {1.0, 101.0}) schedule_at(world, now);
  EXPECT_EQ(world.preempted.size(), 4u);
}

TEST(FairPreemption, StarvationThatWasInterruptedIsCountedFromItsNewBeginning) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=10s)");
  world.node(1, "a", "r", 8);
  run(world, 1, "a", 100);
  world.at(1);
  run(world, 2, "b", 2);  // a share of two, and nothing of it
  world.at(5);
  world.finish(world.launched[0].task);
  world.schedule();
  ASSERT_EQ(world.running(2), 1u) << "half of its share";
  schedule_at(world, 6);
  world.at(8);
  run(world, 3, "b", 100);  // a share of four now
  for (double now : {9.0, 12.0, 17.9}) schedule_at(world, now);
  EXPECT_TRUE(world.preempted.empty()) << "it has starved again since eight seconds only";
  schedule_at(world, 19);
  EXPECT_EQ(world.preempted.size(), 3u);
}

TEST(FairPreemption, KillsOnceAnInterval) {
  World world("fair(preemption=true, interval=10s, fair_share_timeout=1s)");
  world.node(1, "a", "r", 8);
  run(world, 1, "a", 100);  // the first interval begins
  world.at(1);
  run(world, 2, "b", 100);
  for (double now : {2.0, 5.0, 9.9}) schedule_at(world, now);
  EXPECT_TRUE(world.preempted.empty());
  schedule_at(world, 10.5);  // at the first update after it
  EXPECT_EQ(world.preempted.size(), 4u);
}

TEST(FairPreemption, LooksAtSharesOnceAnUpdate) {
  World world("fair(preemption=true, interval=1s, update=5s, fair_share_timeout=1s)");
  world.node(1, "a", "r", 8);
  run(world, 1, "a", 100);
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(5));
  world.at(1);
  run(world, 2, "b", 100);
  for (double now : {2.0, 4.0, 5.0, 7.0, 9.9}) schedule_at(world, now);  // seen at five seconds for the first time
  EXPECT_TRUE(world.preempted.empty());
  schedule_at(world, 10);
  EXPECT_EQ(world.preempted.size(), 4u);
}

TEST(FairPreemption, AMinimumAndAFairShareHaveTimeoutsOfTheirOwn) {
  for (const auto& [minimum, fair, first] : {std::tuple(5, 20, 2u), std::tuple(20, 5, 4u)}) {
    Pools pools(8, "preemption=true, interval=1s",
                {{"p", fmt::format("min_share = 2\nmin_share_timeout = \"{}s\"\nfair_share_timeout = \"{}s\"", minimum, fair)}});
    World& world = pools.world;
    run(world, 1, "x", 100);
    world.at(1);
    run(world, 2, "p", 100);
    schedule_at(world, 5.5);
    EXPECT_TRUE(world.preempted.empty());
    schedule_at(world, 7);
    EXPECT_EQ(world.preempted.size(), first) << "up to the minimum, or up to the share";
  }
}

TEST(FairPreemption, NobodyFallsBelowAGuaranteeThoughNotAllCanBeKept) {
  const std::string six = "min_share = 6\nmin_share_timeout = \"5s\"";
  Pools pools(8, "preemption=true, interval=1s", {{"a", six}, {"b", six}});
  World& world = pools.world;
  run(world, 1, "a", 7);
  run(world, 2, "b", 100);
  ASSERT_EQ(world.running(2), 1u);
  for (double now : {1.0, 10.0, 20.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 6u) << "it had one more than its guarantee";
  EXPECT_EQ(world.running(2), 2u);
}

TEST(FairPreemption, AStarvedPoolIsNotFedWithItsOwnTasks) {
  Pools pools(8, "preemption=true, interval=1s", {{"p", "min_share = 6\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  run(world, 1, "x", 4);
  world.at(1);
  run(world, 2, "p", 4);
  submit(world, 3, "p", 100);
  submit(world, 4, "x", 100);
  for (double now : {2.0, 10.0}) schedule_at(world, now);
  EXPECT_EQ(losses(world, 1), 2u) << "though the newest tasks are those of job 2, which has more than its share of the pool";
  EXPECT_EQ(losses(world, 2), 0u);
  EXPECT_EQ(world.running(3), 2u);
}

TEST(FairPreemption, JobsKeepTheirSharesByWeight) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=5s)");
  world.node(1, "a", "r", 8);
  run(world, 2, "a", 4, 1);
  world.at(1);
  run(world, 1, "a", 100, 3);
  ASSERT_EQ(world.running(1), 4u);
  world.at(2);
  submit(world, 3, "b", 100);
  for (double now : {2.0, 8.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 3u) << "of the four that are left to the pool";
  EXPECT_EQ(world.running(2), 1u);
  EXPECT_EQ(world.running(3), 4u);
}

TEST(FairPreemption, TimeoutsOfTheSchedulerHoldForPoolsWithoutTheirOwn) {
  Pools pools(8, "preemption=true, interval=1s, fair_share_timeout=5s", {{"b", ""}});
  World& world = pools.world;
  run(world, 1, "a", 100);
  run(world, 2, "b", 100);
  for (double now : {1.0, 8.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(2), 4u);
}

// Tasks of several cores: what is killed makes room for one of the starved pool's, on one node.

constexpr const char* kEight = "min_share = 8\nmin_share_timeout = \"5s\"";
constexpr Resources kWhole{.cpu = 8};

std::size_t running_on(const World& world, std::uint32_t node, std::uint64_t job) {
  return static_cast<std::size_t>(std::ranges::count_if(
      world.state.node(NodeId(node))->running, [job](const AttemptId& attempt) { return attempt.task.job == JobId(job); }));
}

TEST(FairPreemption, MakesRoomForAWholeTaskOnOneNode) {
  Pools pools(1, "preemption=true, interval=1s", {{"a", kEight}});
  World& world = pools.world;
  for (std::uint32_t id : {2, 3}) world.node(id, fmt::format("{}", id), "r", 1);
  run(world, 2, "b", 100);
  for (int slots = 2; slots <= 8; ++slots) {  // so that the newest lie on all nodes
    world.at(slots * 0.01);
    for (std::uint32_t id : {1, 2, 3}) world.give(id, {.cpu = static_cast<double>(slots)});
    world.schedule();
  }
  ASSERT_EQ(world.running(2), 24u);
  world.stage(world.job(1, "", "a"), 0, anywhere(2), kWhole);
  for (double now : {1.0, 7.0, 8.0, 20.0, 60.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 1u) << "its minimum";
  EXPECT_EQ(world.preempted.size(), 8u) << "once";
}

TEST(FairPreemption, ChoosesTheNodeWhereTheLeastWorkIsLost) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", kEight}});
  World& world = pools.world;
  run(world, 2, "b", 100);
  world.at(100);
  world.node(2, "b", "r", 8);
  world.schedule();
  world.at(101);
  world.finish(world.launched[0].task);
  world.schedule();
  ASSERT_EQ(world.launched.back().node, NodeId(1)) << "the newest of all is among the oldest";
  world.stage(world.job(1, "", "a"), 0, anywhere(1), kWhole);
  for (double now : {102.0, 109.0}) schedule_at(world, now);
  EXPECT_EQ(running_on(world, 2, 1), 1u);
  EXPECT_EQ(world.preempted.size(), 8u);
}

TEST(FairPreemption, KillsNothingWhereNoTaskWouldFit) {
  Pools pools(4, "preemption=true, interval=1s", {{"a", kEight}});
  World& world = pools.world;
  world.node(2, "b", "r", 4);
  run(world, 2, "b", 100);
  world.stage(world.job(1, "", "a"), 0, anywhere(1), {.cpu = 5});
  for (double now : {1.0, 7.0, 20.0}) schedule_at(world, now);
  EXPECT_TRUE(world.preempted.empty());
}

TEST(FairPreemption, KillsNothingWhereSharesDoNotAllowEnough) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", kEight}, {"b", "min_share = 13"}});
  World& world = pools.world;
  world.node(2, "b", "r", 8);
  run(world, 2, "b", 100);
  world.stage(world.job(1, "", "a"), 0, anywhere(1), kWhole);
  for (double now : {1.0, 7.0, 20.0}) schedule_at(world, now);
  EXPECT_TRUE(world.preempted.empty()) << "its minimum of 13 of 16 leaves no node to another";
}

TEST(FairPreemption, WhatIsFreeCounts) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", "min_share = 4\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  JobInfo& job = world.job(2, "", "b");
  world.stage(job, 0, anywhere(1), {.cpu = 4});
  world.schedule();
  world.at(0.1);
  world.stage(job, 1, anywhere(2));  // newer, and two cores are free
  world.schedule();
  world.stage(world.job(1, "", "a"), 0, anywhere(1), {.cpu = 4});
  for (double now : {1.0, 7.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 1u);
  EXPECT_EQ(world.preempted.size(), 2u) << "with the two that are free they are enough";
  EXPECT_EQ(world.state.stage(JobId(2), StageId(0))->running, 1u);
}

TEST(FairPreemption, OthersDoNotTakeWhatWasKilledForAPool) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", "min_share = 6\nmin_share_timeout = \"5s\""}, {"c", "min_share = 2"}});
  World& world = pools.world;
  run(world, 2, "b", 100);
  submit(world, 3, "c", 100);
  world.stage(world.job(4, "", "a"), 0, anywhere(1), {.cpu = 6});
  for (double now : {1.0, 7.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(4), 1u) << "though of two pools that have nothing the one that came first is next";
  EXPECT_EQ(world.preempted.size(), 6u);
}

TEST(FairPreemption, SparesWhatIsNotNeeded) {
  for (const double want : {6.0, 7.0}) {
    Pools pools(8, "preemption=true, interval=1s", {{"a", kEight}});
    World& world = pools.world;
    JobInfo& job = world.job(2, "", "b");
    world.stage(job, 0, anywhere(1), {.cpu = 6});
    world.schedule();
    world.at(0.1);
    world.stage(job, 1, anywhere(2));  // newer
    world.schedule();
    world.stage(world.job(1, "", "a"), 0, anywhere(1), {.cpu = want});
    for (double now : {1.0, 7.0}) schedule_at(world, now);
    EXPECT_EQ(world.running(1), 1u) << want;
    EXPECT_EQ(world.preempted.size(), want == 6 ? 1u : 2u) << "the large one, and beside it as many as are needed";
  }
}

TEST(FairPreemption, SparesANewerOneThatALargeOneMakesNeedless) {
  Pools pools(9, "preemption=true, interval=1s", {{"a", kEight}});
  World& world = pools.world;
  JobInfo& job = world.job(2, "", "b");
  for (std::uint32_t stage = 0; const double cores : {6.0, 2.0, 1.0}) {
    world.at(0.1 * stage);
    world.stage(job, stage++, anywhere(1), {.cpu = cores});
    world.schedule();
  }
  world.stage(world.job(1, "", "a"), 0, anywhere(1), {.cpu = 7});
  for (double now : {1.0, 7.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 1u);
  EXPECT_EQ(world.preempted.size(), 2u);
  EXPECT_EQ(world.state.stage(JobId(2), StageId(1))->running, 1u) << "six and one are enough";
}

TEST(FairPreemption, SeveralNewerOnesAreKilledWhereTheyAreLessWork) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", "min_share = 4\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  JobInfo& job = world.job(2, "", "b");
  world.stage(job, 0, anywhere(1), {.cpu = 4});
  world.schedule();
  world.at(6);
  world.stage(job, 1, anywhere(4));
  world.schedule();
  world.stage(world.job(1, "", "a"), 0, anywhere(1), {.cpu = 4});
  for (double now : {7.0, 13.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 1u);
  EXPECT_EQ(world.preempted.size(), 4u);
}

TEST(FairPreemption, GivesWhatWasKilledToOneTask) {
  Pools pools(16, "preemption=true, interval=1s", {{"a", "min_share = 16\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  run(world, 2, "b", 100);
  world.stage(world.job(1, "", "a"), 0, anywhere(2), kWhole);
  for (double now : {1.0, 7.0}) schedule_at(world, now);
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.preempted.size(), 16u);
}

TEST(FairPreemption, KillsNothingWhereTheTaskMayNotRun) {
  for (const bool failed : {false, true}) {
    Pools pools(8, "preemption=true, interval=1s", {{"a", kEight}});
    World& world = pools.world;
    run(world, 2, "b", 100);
    StageInfo& stage = world.stage(world.job(1, "", "a"), 0, anywhere(2), kWhole);
    world.state.set_avoid(stage, 0, NodeId(1));
    if (failed) world.state.set_avoid(stage, 1, NodeId(1));
    for (double now : {1.0, 7.0}) schedule_at(world, now);
    EXPECT_EQ(world.preempted.size(), failed ? 0u : 8u);
    EXPECT_EQ(world.running(1), failed ? 0u : 1u) << "the other task";
  }
}

TEST(FairPreemption, KillsNothingOnANodeThatLeaves) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", "min_share = 2\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  run(world, 2, "b", 8);
  world.at(1);
  world.node(2, "b", "r", 8);
  run(world, 3, "b", 8);
  submit(world, 1, "a", 2);
  world.state.set_leaving(NodeId(2));
  for (double now : {1.5, 7.0}) schedule_at(world, now);
  EXPECT_EQ(losses(world, 3), 0u) << "though its tasks are the newest";
  EXPECT_EQ(world.running(1), 2u);
}

TEST(FairPreemption, WhoeverWasKilledForIsServedFirstOnlyUntilItHasThat) {
  Pools pools(8, "preemption=true, interval=1s", {{"a", "min_share = 2\nmin_share_timeout = \"5s\""}});
  World& world = pools.world;
  run(world, 2, "b", 8);
  submit(world, 1, "a", 100);
  submit(world, 3, "c", 100);
  schedule_at(world, 1);
  world.at(7);
  world.finish(world.launched[0].task);
  world.finish(world.launched[1].task);
  world.schedule();
  EXPECT_EQ(world.preempted.size(), 2u);
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(3), 2u) << "which has nothing, and is next";
}

TEST(FairPreemption, WhatEndsLaterIsSharedInOrder) {
  Pools pools(8, "preemption=true, interval=100s", {{"a", "min_share = 6\nmin_share_timeout = \"5s\""}, {"c", "min_share = 2"}});
  World& world = pools.world;
  run(world, 2, "b", 100);
  submit(world, 3, "c", 100);
  world.stage(world.job(4, "", "a"), 0, anywhere(2), {.cpu = 6});
  for (double now : {1.0, 101.0}) schedule_at(world, now);
  ASSERT_EQ(world.running(4), 1u);
  world.finish({JobId(4), StageId(0), 0});
  world.schedule();
  EXPECT_GE(world.running(3), 2u) << "the other pool is as far below its minimum, and came first";
}

}  // namespace
}  // namespace weft::schedulers::fair_preemption_rules

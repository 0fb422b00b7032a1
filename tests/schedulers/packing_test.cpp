// drf, sjf, srtf, cpm, bfs, tetris: one machine, the worked examples of their papers.
#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

constexpr double kGiB = 1u << 30;

TEST(Drf, ThePapersExampleGivesThreeAndTwoTasks) {  // 9 cpu, 18 GB; <1, 4> and <3, 1>
  World world("drf");
  world.node(1, "a", "r", 9, 18 * kGiB);
  world.job(1, 0, Time(0), anywhere(50), {.cpu = 1, .memory = 4 * kGiB});
  world.job(2, 0, Time(0), anywhere(50), {.cpu = 3, .memory = kGiB});
  world.schedule();
  EXPECT_EQ(world.running(1), 3u);
  EXPECT_EQ(world.running(2), 2u);
  EXPECT_DOUBLE_EQ(dominant_share(world.state.job(JobId(1))->used, world.state.capacity()), 2.0 / 3);
  EXPECT_DOUBLE_EQ(dominant_share(world.state.job(JobId(2))->used, world.state.capacity()), 2.0 / 3);
}

TEST(Drf, TheClosedFormSharesTheSameExample) {
  const Resources capacity{.cpu = 9, .memory = 18};
  const auto shares = drf_shares({{{.cpu = 1, .memory = 4}}, {{.cpu = 3, .memory = 1}}}, capacity);
  EXPECT_DOUBLE_EQ(shares[0].cpu, 3);
  EXPECT_DOUBLE_EQ(shares[0].memory, 12);
  EXPECT_DOUBLE_EQ(shares[1].cpu, 6);
  EXPECT_DOUBLE_EQ(shares[1].memory, 2);
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 9, 18 * kGiB);
  world.job(1, 0, Time(0), anywhere(50), {.cpu = 1, .memory = 4 * kGiB});
  world.job(2, 0, Time(0), anywhere(50), {.cpu = 3, .memory = kGiB});
  world.schedule();
  EXPECT_EQ(world.running(1), 3u);
  EXPECT_EQ(world.running(2), 2u);
}

TEST(Drf, WeightsMultiplyTheClosedFormsShares) {
  const auto shares = drf_shares({{{.cpu = 1}, 3}, {{.cpu = 1}, 1}}, {.cpu = 8});
  EXPECT_DOUBLE_EQ(shares[0].cpu, 6);
  EXPECT_DOUBLE_EQ(shares[1].cpu, 2);
}

TEST(Drf, StrictLeavesIdleWhatTheSecondPassWouldLend) {
  for (const auto& [spec, expected] : {std::pair("drf(form=closed, strict=true)", 4u), std::pair("drf(form=closed)", 7u)}) {
    World world(spec);
    world.node(1, "a", "r", 8);
    world.job(1, 0, Time(0), anywhere(6));
    world.job(2, 0, Time(0), anywhere(1));
    world.schedule();
    EXPECT_EQ(world.launched.size(), expected + (expected == 4u ? 1u : 0u)) << spec;
    EXPECT_EQ(world.running(1), expected == 4u ? 4u : 6u) << spec;
  }
}

TEST(Drf, TheFurthestBelowItsShareGetsAllItCanUseOfWhatIsLeft) {
  // Shares of 5. In the first pass jobs 1 and 2 take all they have (1), job 3 one task of 3, job 4 two of 2.5; 10 are left.
  using Running = std::pair<std::size_t, std::size_t>;
  for (const auto& [leftover, expected] : {std::pair("furthest", Running{4, 2}), std::pair("drf", Running{3, 3})}) {
    World world(fmt::format("drf(form=closed, leftover={})", leftover));
    world.node(1, "a", "r", 20);
    for (std::uint64_t small : {1u, 2u}) world.job(small, 0, Time(0), anywhere(1));
    world.job(3, 0, Time(0), anywhere(9), {.cpu = 3});
    world.job(4, 0, Time(0), anywhere(9), {.cpu = 2.5});
    world.schedule();
    EXPECT_EQ(world.running(3), expected.first) << leftover;
    EXPECT_EQ(world.running(4), expected.second) << leftover;
  }
}

TEST(Drf, AJobAboveItsShareOfOneResourceLaunchesNothingThatNeedsAnother) {
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 8, 8);
  JobInfo& first = world.job(1);
  world.stage(first, 0, anywhere(6), {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.running(1), 6u) << "alone";
  world.job(2, 0, Time(0), anywhere(8), {.cpu = 1, .memory = 1});
  world.stage(first, 1, anywhere(2), {.memory = 1});
  world.schedule();
  EXPECT_EQ(world.running(1), 6u) << "of cpu its share is 4 now, of memory 1.33";
  EXPECT_EQ(world.running(2), 2u);
}

TEST(Drf, RoundsWhereItIsAskedTo) {
  // Memory is what most is asked of: 1/3 + 1 + 1, or .33 + 1 + 1.
  const std::vector<DrfClaim> claims{{{.cpu = 3, .memory = 1}, 1}, {{.cpu = 1, .memory = 3}, 1}, {{.cpu = 1, .memory = 3}, 1}};
  const Resources capacity{.cpu = 100, .memory = 100};
  EXPECT_DOUBLE_EQ(drf_shares(claims, capacity)[0].cpu, 100 / (2 + 1.0 / 3));
  EXPECT_DOUBLE_EQ(drf_shares(claims, capacity, 100)[0].cpu, 100 / 2.33);
  EXPECT_FALSE(make_scheduler("drf(form=closed, digits=10)"));
  EXPECT_FALSE(make_scheduler("drf(digits=2)")) << "the progressive form sums nothing up";
}

/// Runs everything; when each job's last task ended, in seconds. Tasks take what their stages estimate.
std::map<JobId, double> ends_of(World& world) {
  std::map<JobId, double> ends;
  std::set<std::pair<Time, std::size_t>> agenda;
  std::size_t seen = 0;
  world.schedule();
  for (;;) {
    for (; seen < world.launched.size(); ++seen) {
      const TaskId& task = world.launched[seen].task;
      agenda.emplace(world.state.now() + *world.state.stage(task.job, task.stage)->estimated_duration, seen);
    }
    if (agenda.empty()) return ends;
    const Time now = agenda.begin()->first;
    world.state.set_now(now);
    while (!agenda.empty() && agenda.begin()->first == now) {
      const TaskId task = world.launched[agenda.begin()->second].task;
      agenda.erase(agenda.begin());
      world.finish(task);
      ends[task.job] = std::chrono::duration<double>(now).count();
    }
    world.schedule();
  }
}

TEST(Drf, TheCarbynePapersFirstExampleTakes205StrictlyAnd155Lending) {  // OSDI 2016, figure 2: capacity 1, shares of a half
  for (const auto& [spec, mean] : {std::pair("drf(form=closed, strict=true)", 2.05), std::pair("drf(form=closed)", 1.55)}) {
    World world(spec);
    world.node(1, "a", "r", 1);
    JobInfo& first = world.job(1);
    world.stage(first, 0, anywhere(2), {.cpu = 0.04}, 1);
    world.stage(first, 1, anywhere(3), {.cpu = 0.21}, 1);
    world.stage(first, 2, anywhere(1), {.cpu = 0.04}, 0.1, {0, 1});
    world.stage(world.job(2), 0, anywhere(2), {.cpu = 0.29}, 1);
    const auto ends = ends_of(world);
    EXPECT_NEAR((ends.at(JobId(1)) + ends.at(JobId(2))) / 2, mean, 1e-9) << spec;
  }
}

TEST(Drf, CanShareByUser) {
  World world("drf(by=user)");
  world.node(1, "a", "r", 8);
  for (std::uint64_t id : {1u, 2u, 3u}) world.stage(world.job(id, id == 3 ? "bob" : "alice"), 0, anywhere(20));
  world.schedule();
  EXPECT_EQ(world.running(1) + world.running(2), 4u);
  EXPECT_EQ(world.running(3), 4u);
}

/// Job 1: 10 s then 1 s; job 2: 6 tasks of 5 s; job 3: one of 20 s.
void three_jobs(World& world) {
  JobInfo& first = world.job(1);
  world.stage(first, 0, anywhere(1), {.cpu = 1}, 10);
  world.stage(first, 1, anywhere(1), {.cpu = 1}, 1, {0});
  world.stage(world.job(2), 0, anywhere(6), {.cpu = 1}, 5);
  world.stage(world.job(3), 0, anywhere(1), {.cpu = 1}, 20);
}

std::string order_of_one_slot(const std::string& spec) {
  World world(spec);
  three_jobs(world);
  world.node(1, "a", "r", 1);
  for (std::size_t i = 0; i < 9; ++i) {
    world.schedule();
    if (i >= world.launched.size()) return world.order() + " stopped";
    world.finish(world.launched[i].task);
  }
  return world.order();
}

TEST(Shortest, SjfServesTheShortestCriticalPathFirst) { EXPECT_EQ(order_of_one_slot("sjf"), "222222113"); }
TEST(Shortest, SrtfServesTheLeastRemainingWorkFirst) { EXPECT_EQ(order_of_one_slot("srtf"), "113222222"); }
TEST(Shortest, WhatRunsIsNoRemainingWork) {
  World world("srtf");
  world.node(1, "a", "r", 3);
  world.stage(world.job(1), 0, anywhere(4), {.cpu = 1}, 1);
  world.schedule();
  world.stage(world.job(2), 0, anywhere(2), {.cpu = 1}, 1);
  world.finish(world.launched.front().task);
  world.schedule();
  EXPECT_EQ(world.order(), "1111") << "one is left to launch, of job 2 two";
}
TEST(Shortest, SjfCanGoByWork) { EXPECT_EQ(order_of_one_slot("sjf(size=work)"), "113222222"); }

TEST(Shortest, WhatTheShortestJobCannotUseGoesToTheNext) {
  World world("sjf");
  world.node(1, "a", "r", 8);
  three_jobs(world);
  world.schedule();
  EXPECT_EQ(world.order(), "22222213");
}

/// Stage 0 (1 s) and stage 1 (2 s) are roots; stage 2 (50 s) follows 0; stage 3 (1 s) follows 1.
void diamond(World& world) {
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(1), {.cpu = 1}, 2);
  world.stage(job, 1, anywhere(1), {.cpu = 1}, 1);
  world.stage(job, 2, anywhere(1), {.cpu = 1}, 1, {0});
  world.stage(job, 3, anywhere(2), {.cpu = 1}, 50, {1});
}

std::string stages_of_one_slot(const std::string& spec) {
  World world(spec);
  diamond(world);
  world.node(1, "a", "r", 1);
  std::string text;
  for (std::size_t i = 0; i < 5; ++i) {
    world.schedule();
    text += fmt::format("{}", world.launched.at(i).task.stage.value());
    world.finish(world.launched[i].task);
  }
  return text;
}

TEST(StageOrders, OfADepthTheStageThatWasReadyFirstGoesFirst) {
  World world("bfs");
  diamond(world);
  world.node(1, "a", "r", 2);
  world.schedule();
  world.at(1);
  world.finish(world.launched.at(1).task);  // stage 3 is ready
  world.at(2);
  world.finish(world.launched.at(0).task);  // stage 2 as well
  world.schedule();
  EXPECT_EQ(world.launched.at(2).task.stage, StageId(3));
  EXPECT_EQ(world.launched.at(3).task.stage, StageId(3));
}

TEST(WhyNot, SaysWhenANodeHasNoRoom) {
  World world;
  world.node(1, "a", "r", 1);
  world.job(1, 0, Time(0), anywhere(2));
  const TaskId second{JobId(1), StageId(0), 1};
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u);
  EXPECT_NE(world.state.why_not(second, NodeId(1)).value_or("").find("has no room"), std::string::npos);
  world.finish(world.launched[0].task);
  EXPECT_FALSE(world.state.why_not(second, NodeId(1)));
}

TEST(StageOrders, AStageIsDeeperThanTheDeepestOfItsParents) {
  World world;
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(1));
  world.stage(job, 1, anywhere(1), {.cpu = 1}, 1, {0});
  EXPECT_EQ(world.stage(job, 2, anywhere(1), {.cpu = 1}, 1, {1, 0}).depth, 2u);
}

TEST(StageOrders, FollowDefinitionDepthOrTheLongestPath) {
  EXPECT_EQ(stages_of_one_slot("fifo"), "01233");
  EXPECT_EQ(stages_of_one_slot("bfs"), "01233");
  EXPECT_EQ(stages_of_one_slot("cpm"), "13302");
  EXPECT_EQ(stages_of_one_slot("cpm(inner=drf)"), "13302");
  World world;
  diamond(world);
  const auto paths = critical_paths(*world.state.job(JobId(1)), false);
  EXPECT_EQ(paths.at(StageId(0)), 3);
  EXPECT_EQ(paths.at(StageId(1)), 51);
}

TEST(Tetris, PicksTheTaskBestAlignedWithWhatIsFree) {
  World world("tetris(mode=paper, srtf=false)");
  world.node(1, "a", "r", 10, 10 * kGiB);
  world.job(1, 0, Time(0), anywhere(9), {.cpu = 1, .memory = kGiB});
  world.job(2, 0, Time(0), anywhere(9), {.cpu = 4, .memory = kGiB});  // larger: better aligned while there is cpu
  world.job(3, 0, Time(0), anywhere(9), {.cpu = 1, .memory = 4 * kGiB});
  world.schedule();
  EXPECT_EQ(world.order(), "2323") << "cpu 10 of 10, memory 10 of 10: no fragment is left";
}

TEST(Tetris, RemoteInputCostsATenth) {
  for (const auto& [penalty, first] : {std::pair("0.9", 2u), std::pair("1", 1u)}) {
    World world(fmt::format("tetris(mode=paper, srtf=false, penalty={})", penalty));
    world.node(1, "a", "r", 1);
    world.job(1, 0, Time(0), {{"elsewhere"}});
    world.job(2, 0, Time(1), {{"a"}});
    world.schedule();
    EXPECT_EQ(world.launched.at(0).task.job, JobId(first));
  }
}

TEST(Tetris, ShortJobsWeighAgainstPacking) {
  for (const auto& [srtf, first] : {std::pair("false", 1u), std::pair("true", 2u)}) {
    World world(fmt::format("tetris(mode=paper, srtf={})", srtf));
    world.node(1, "a", "r", 4);
    world.stage(world.job(1), 0, anywhere(100), {.cpu = 3}, 10);
    world.stage(world.job(2), 0, anywhere(1), {.cpu = 2}, 10);
    world.schedule();
    EXPECT_EQ(world.launched.at(0).task.job, JobId(first)) << srtf;
  }
}

TEST(Tetris, AStageThatComesLaterCountsAsWorkOfItsJob) {
  World world("tetris(mode=paper)");
  world.node(1, "a", "r", 1);
  JobInfo& longer = world.job(1);
  world.stage(longer, 0, anywhere(2), {.cpu = 1}, 10);
  world.stage(world.job(2), 0, anywhere(3), {.cpu = 1}, 10);
  world.stage(world.job(3), 0, anywhere(1), {.cpu = 1}, 10);
  world.schedule();
  ASSERT_EQ(world.launched.at(0).task.job, JobId(3)) << "the least work";
  world.stage(longer, 1, anywhere(10), {.cpu = 1}, 100, {0});
  world.finish(world.launched.at(0).task);
  world.schedule();
  EXPECT_EQ(world.launched.at(1).task.job, JobId(2)) << "job 1 had less to do until its second stage came";
}

TEST(Tetris, TheFairnessKnobKeepsToJobsBelowTheirShare) {
  World world("tetris(mode=paper, srtf=false, fairness=0.5)");
  world.node(1, "a", "r", 12);
  world.job(1, 0, Time(0), anywhere(9), {.cpu = 3});
  world.job(2, 0, Time(1), anywhere(9), {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);  // alone by alignment it would get 4 and job 2 nothing
  EXPECT_EQ(world.running(2), 6u);
}

TEST(Tetris, StagesNearTheirBarrierGoFirst) {
  World world("tetris(mode=paper, srtf=false, barrier=0.5)");
  world.node(1, "a", "r", 1);
  world.job(1, 0, Time(0), anywhere(3), {.cpu = 0.5});
  world.schedule();
  world.finish(world.launched.at(0).task);
  world.finish(world.launched.at(1).task);
  world.job(2, 0, Time(1), anywhere(1), {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.launched.at(2).task.job, JobId(1)) << "two of three are done: the last one frees what waits for it";
}

TEST(Tetris, SpreadsTheTasksOfAJobOverFreeNodes) {
  for (const auto& [spec, first] : {std::pair("tetris", 2u), std::pair("tetris(mode=paper)", 4u)}) {
    World world(spec);
    world.node(1, "a", "r", 4);
    world.node(2, "b", "r", 4);
    world.job(1, 0, Time(0), anywhere(4));
    world.schedule();
    EXPECT_EQ(world.state.node(NodeId(1))->running.size(), first) << spec;
    EXPECT_EQ(world.running(1), 4u);
  }
}

TEST(Tetris, AMoreSuitableTaskWaitsForAJobThatWouldEndLaterThanWithItsShare) {
  for (const auto& [spec, first] : {std::pair("tetris(srtf=false)", 1u), std::pair("tetris(mode=paper, srtf=false)", 2u)}) {
    World world(spec);
    world.node(1, "a", "r", {.cpu = 4});
    world.stage(world.job(3, "many"), 0, anywhere(1), {.cpu = 4}, 100);
    world.schedule();
    world.stage(world.job(1, "few"), 0, anywhere(1), {.cpu = 1}, 10);
    world.stage(world.job(2, "many"), 0, anywhere(100), {.cpu = 4}, 10);
    world.schedule();
    world.at(100);
    world.finish(world.launched.at(0).task);
    world.beat(1);
    EXPECT_EQ(world.launched.at(1).task.job, JobId(first)) << spec;
  }
}

}  // namespace
}  // namespace weft::schedulers

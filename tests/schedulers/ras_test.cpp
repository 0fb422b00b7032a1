// Job slots in control cycles: how many tasks nodes run by what these use, who gets them, and what measurements change.
#include <map>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::ras_rules {
namespace {

Resources takes(double cpu, double disk = 0, double memory = 0) { return {.cpu = cpu, .memory = memory, .disk_read = disk}; }

/// Nodes of a hundred cores for the master and one of each resource for tasks.
World cluster(std::uint32_t nodes, const std::string& options = "") {
  World world("ras(mode=paper, node=[cpu=1,memory=1,disk_read=1],overcommit=0" + options + ")");
  for (std::uint32_t i = 1; i <= nodes; ++i) world.node(i, fmt::format("h{}", i), "r", 100);
  return world;
}

/// Tasks of ten seconds that take that much of their node.
JobInfo& maps(World& world, std::uint64_t id, std::size_t tasks, const Resources& use, std::optional<double> goal = {}) {
  JobInfo& job = world.job(id);
  job.hints.map_profile = use;
  if (goal) job.deadline = world.state.now() + Time(static_cast<std::int64_t>(*goal * 1e9));
  world.stage(job, 0, anywhere(tasks), {.cpu = 1}, 10);
  return job;
}

std::map<std::uint32_t, std::size_t> by_node(const World& world) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const auto& [id, node] : world.state.nodes()) counts[id.value()] = node.running.size();
  return counts;
}

void measure(World& world, std::uint32_t node, const Resources& use) {
  world.state.mutable_node(NodeId(node)).measured = use;
  world.state.mutable_node(NodeId(node)).last_heard = world.state.now();
}

TEST(Ras, RunsAsManyTasksOnANodeAsItsScarcestResourceAllows) {
  for (const auto& [use, most] :
       {std::pair(takes(0.30, 0.45, 0.25), 2u), std::pair(takes(0.25, 0.10, 0.10), 4u), std::pair(takes(0.15, 0.20, 0.10), 5u)}) {
    World world = cluster(3);
    maps(world, 1, 100, use);
    world.schedule();
    EXPECT_EQ(by_node(world), (std::map<std::uint32_t, std::size_t>{{1, most}, {2, most}, {3, most}}));
  }
}

TEST(Ras, MayOvercommitWhatIsSharedByAPartOfATask) {
  for (const auto& [use, most] : {std::pair(takes(0.30), 4u), std::pair(takes(0.1, 0.22), 5u), std::pair(takes(0.1, 0, 0.22), 4u),
                                  std::pair(takes(0.25), 4u)}) {
    World world("ras(mode=paper, node=[cpu=1,memory=1,disk_read=1])");
    world.node(1, "h1", "r", 100);
    maps(world, 1, 100, use);
    world.schedule();
    EXPECT_EQ(world.launched.size(), most) << to_string(use);
  }
}

TEST(Ras, WithoutAProfileATaskTakesItsDemand) {
  World world("ras(mode=paper)");
  world.node(1, "h1", "r", 4, 100);
  world.job(1, 0, Time(0), anywhere(10), {.cpu = 1, .memory = 40});
  world.schedule();
  EXPECT_EQ(world.launched.size(), 2u);
}

TEST(Ras, GivesJobsWithoutGoalsEqualPartsOfTheCluster) {
  World world = cluster(4);
  maps(world, 1, 1000, takes(0.1));
  maps(world, 2, 100, takes(0.1));
  world.schedule();
  EXPECT_EQ(world.running(1), 20u);
  EXPECT_EQ(world.running(2), 20u);
  World uneven = cluster(4);
  maps(uneven, 1, 1000, takes(0.1));
  maps(uneven, 2, 1000, takes(0.1)).hints.weight = 3;
  uneven.at(31);
  uneven.schedule();
  EXPECT_EQ(uneven.running(1), 10u);
  EXPECT_EQ(uneven.running(2), 30u);
}

TEST(Ras, PutsAGoalBeforeJobsWithoutOne) {
  World world = cluster(2);
  maps(world, 1, 1000, takes(0.1));
  maps(world, 2, 30, takes(0.1), 20.0);  // 300 s of work in 20 s: 15 slots
  world.schedule();
  EXPECT_GE(world.running(2), 15u);
  EXPECT_GE(world.running(1), 1u);
}

TEST(Ras, BalancesGoalsThatCannotAllBeMet) {
  World world = cluster(1);
  maps(world, 1, 100, takes(0.1), 100.0);  // needs 10
  maps(world, 2, 100, takes(0.1), 200.0);  // needs 5
  world.schedule();
  // log(s) / log(10) = log(10 - s) / log(5): between 6 and 7, so the lower of the two is highest with 6 and 4.
  EXPECT_EQ(world.running(1), 6u);
  EXPECT_EQ(world.running(2), 4u);
}

TEST(Ras, KillsNothingAndTakesSlotsOverAsTasksEnd) {
  World world = cluster(1);
  maps(world, 1, 100, takes(0.25));
  world.schedule();
  ASSERT_EQ(world.running(1), 4u);
  world.at(2);
  maps(world, 2, 100, takes(0.25));
  world.schedule();
  EXPECT_TRUE(world.preempted.empty());
  EXPECT_EQ(world.running(2), 0u);
  for (std::uint32_t task : {0u, 1u, 2u}) {
    world.at(10 + task);
    world.finish({JobId(1), StageId(0), task});
    world.beat(1);
    world.beat(1);
  }
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 2u) << "no more than its part";
}

TEST(Ras, ANewJobDoesNotWaitForTheNextCycle) {
  World world = cluster(1, ",cycle=1min,react=2s");
  maps(world, 1, 2, takes(0.25));
  world.schedule();
  world.at(1);
  maps(world, 2, 4, takes(0.25));
  world.schedule();
  EXPECT_EQ(world.running(2), 0u) << "a cycle began a second ago";
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(2));
  world.at(2);
  world.schedule({Trigger::Kind::timer, NodeId()});
  EXPECT_EQ(world.running(2), 2u);
}

TEST(Ras, AReaderOfShufflesTakesWhatReducesTake) {
  World world = cluster(2);
  JobInfo& job = maps(world, 1, 2, takes(0.3, 0.45, 0.25));
  job.hints.reduce_profile = takes(0.2, 0.5, 0.6);
  world.stage(job, 1, anywhere(4), {.cpu = 1}, 10, {0});
  world.schedule();
  world.at(10);
  for (std::uint32_t task : {0u, 1u}) world.finish({JobId(1), StageId(0), task});
  world.schedule();
  EXPECT_EQ(by_node(world), (std::map<std::uint32_t, std::size_t>{{1, 1}, {2, 1}})) << "by memory one a node";
}

TEST(Ras, ReadersThatFetchTakeMemoryAndHardlyDisk) {
  World world = cluster(2);
  JobInfo& job = maps(world, 1, 8, takes(0.3, 0.45, 0.2));
  job.hints.shuffle_profile = takes(0.05, 0.05, 0.6);
  job.hints.reduce_profile = takes(0.2, 0.5, 0.6);
  StageInfo& readers = world.stage(job, 1, anywhere(4), {.cpu = 1}, 10, {0});
  world.state.set_ready(job, readers, true);  // slow start
  world.schedule();
  EXPECT_EQ(job.stages.at(StageId(1)).running, 2u) << "one a node, for the memory of two is not there";
  EXPECT_EQ(job.stages.at(StageId(0)).running, 4u) << "beside two maps on each";
}

TEST(Ras, StartsNothingWhereMeasurementsLeaveNoRoom) {
  World world = cluster(1);
  maps(world, 1, 1, takes(0.1, 0.1));
  world.schedule();
  world.at(5);
  maps(world, 2, 10, takes(0.1, 0.1));
  measure(world, 1, takes(0.2, 0.97));
  world.schedule();
  EXPECT_EQ(world.launched.size(), 1u);
  EXPECT_NE(world.holds[JobId(2)].find("no room"), std::string::npos);
  measure(world, 1, takes(0.2, 0.2));
  world.beat(1);
  EXPECT_EQ(world.launched.size(), 1u + 8);
}

/// Runs cycles on a node where each task truly takes that much, until what runs stays the same.
std::size_t settled(const Resources& said, const Resources& truly, std::size_t tasks = 1000) {
  World world = cluster(1, ",cycle=5s");
  maps(world, 1, tasks, said);
  for (int cycle = 0; cycle < 60; ++cycle) {
    world.at(cycle * 5);
    const auto running = static_cast<double>(world.state.node(NodeId(1))->running.size());
    measure(world, 1, takes(std::min(1.0, truly.cpu * running), std::min(1.0, truly.disk_read * running), truly.memory * running));
    world.schedule({Trigger::Kind::timer, NodeId()});
    if (cycle % 2 == 0) continue;
    const auto attempts = world.state.node(NodeId(1))->running;  // all end, some time after they were launched
    for (const AttemptId& attempt : attempts) world.finish(attempt.task);
    world.beat(1);
  }
  return world.state.node(NodeId(1))->running.size();
}

TEST(Ras, FindsOutThatAProfileLies) {
  EXPECT_EQ(settled(takes(0.25, 0.1), takes(0.25, 0.1)), 4u);
  EXPECT_GE(settled(takes(0.75, 0.1), takes(0.25, 0.1)), 3u) << "three times too much: not one but four would fit";
  EXPECT_LE(settled(takes(0.1, 0, 0.10), takes(0.1, 0, 0.30)), 3u) << "three times too little: not ten but three fit";
  EXPECT_EQ(settled(takes(0.25), takes(0.25, 0.1)), 4u);
}

/// A node of eight slots whose worker says that its tasks can use so many processors.
World reporting(double processors) {
  World world("ras(mode=paper)");
  world.node(1, "h1", "r", {.cpu = 8, .memory = 100, .disk_read = 100});
  world.state.mutable_node(NodeId(1)).processors = processors;
  return world;
}

TEST(Ras, NodesHaveTheProcessorsThatTheirWorkersReport) {
  for (const auto& [processors, most] : {std::pair(2.0, 4u), std::pair(1.0, 2u), std::pair(0.0, 8u)}) {
    World world = reporting(processors);
    maps(world, 1, 100, {.cpu = 0.6});  // and a third of the last one has to fit
    world.schedule();
    EXPECT_EQ(world.launched.size(), most == 8 ? 8u : most) << processors;
  }
}

TEST(Ras, WhatNobodyKnowsTakesTheProcessorsThatStandForItsSlots) {
  World world = reporting(0.3);
  world.job(1, 0, Time(0), anywhere(20), {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.launched.size(), 8u);
}

TEST(Ras, BusyProcessorsKeepNobodyAwayWhoNeedsTheDiskMore) {
  World world = reporting(1);
  maps(world, 1, 1, {.cpu = 0.3});
  world.schedule();
  world.at(5);
  maps(world, 2, 1, {.cpu = 0.1, .disk_read = 30});
  maps(world, 3, 1, {.cpu = 0.3, .disk_read = 10});
  measure(world, 1, {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.running(2), 1u);
  EXPECT_EQ(world.running(3), 0u) << "it needs the processors more";
}

TEST(Ras, ProcessorsThatATaskFillsAreNoReasonToLeaveTheDiskIdle) {
  World world = reporting(0.3);
  maps(world, 1, 10, {.cpu = 0.3});
  maps(world, 2, 10, {.cpu = 0.05, .disk_read = 90});
  world.schedule();
  EXPECT_EQ(world.running(1), 1u);
  EXPECT_EQ(world.running(2), 1u);
}

TEST(Ras, WhatEndedWhileItWasMeasuredIsNoLoad) {
  World world = reporting(1);
  maps(world, 1, 3, {.cpu = 0.9});
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u);
  measure(world, 1, {.cpu = 0.9});  // at 0 s; the next one, a second later, still has all of what ends just before it
  maps(world, 2, 1, {.disk_read = 10});
  world.at(0.2);
  world.beat(1);
  ASSERT_EQ(world.running(2), 1u);
  world.at(0.95);
  const TaskId first = world.launched.front().task;
  world.finish(first);
  world.at(1);
  measure(world, 1, {.cpu = 0.9});
  world.beat(1);
  EXPECT_EQ(world.running(1), 1u) << "not at the next measurement only";
}

TEST(Ras, ANodeThatIsGivenLessGetsLess) {
  World world = cluster(2);
  maps(world, 1, 100, takes(0.1));
  world.give(1, {.cpu = 50});
  world.schedule();
  EXPECT_EQ(by_node(world), (std::map<std::uint32_t, std::size_t>{{1, 5}, {2, 10}}));
}

TEST(Ras, SaysWhatAJobHas) {
  World world = cluster(1);
  maps(world, 1, 100, takes(0.25), 100.0);
  world.schedule();
  world.schedule();
  EXPECT_EQ(world.holds[JobId(1)],
            "it has 4 job slots of the 10 that its goal needs until the next control cycle (utility -0.40); they are taken, or "
            "what runs on their nodes leaves no room");
}

TEST(Ras, RefusesOptionsThatMakeNoSense) {
  const auto error = [](const std::string& text) { return make_scheduler(text).error().to_string(); };
  EXPECT_NE(error("ras(cycle=0s)").find("scheduler option cycle must be more than 0"), std::string::npos);
  EXPECT_NE(error("ras(mode=paper, node=[cups=1])").find("scheduler option node"), std::string::npos);
  EXPECT_NE(error("ras(slots=3)").find("slots"), std::string::npos);
}

TEST(RasBounded, ASlotIsUsedWhereTheInputOfATaskIs) {
  World world("ras");
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), "r", 1);
  for (std::uint64_t job = 1; job <= 4; ++job) world.job(job, 0, Time(0), {{fmt::format("h{}", 5 - job)}});
  world.schedule();
  ASSERT_EQ(world.launched.size(), 4u);
  for (const auto& launch : world.launched) EXPECT_EQ(launch.task.job.value(), 5 - launch.node.value());
}

/// Twelve slots are free: a job's four tasks run each beside its input, and another's are spread.
TEST(RasBounded, WhereThereIsRoomTasksRunNearTheirInputAndAreSpread) {
  World world("ras");
  for (std::uint32_t id : {1u, 2u, 3u, 4u}) world.node(id, fmt::format("h{}", id), "r", 3);
  world.stage(world.job(1), 0, {{"h4"}, {"h3"}, {"h4"}, {"h3"}}, {.cpu = 1}, 10);
  world.schedule();
  EXPECT_EQ(by_node(world), (std::map<std::uint32_t, std::size_t>{{1, 0}, {2, 0}, {3, 2}, {4, 2}}));
  world.stage(world.job(2), 0, anywhere(4), {.cpu = 1}, 10);
  world.at(1);
  world.schedule();
  EXPECT_EQ(by_node(world), (std::map<std::uint32_t, std::size_t>{{1, 1}, {2, 1}, {3, 3}, {4, 3}})) << "one for each";
}

TEST(RasBounded, SlotsThatNoGoalNeedsGoToSmallJobsFirst) {
  World world("ras");
  world.node(1, "h1", "r", 4);
  world.stage(world.job(1), 0, anywhere(100), {.cpu = 1}, 10);
  world.stage(world.job(2), 0, anywhere(3), {.cpu = 1}, 10);
  world.schedule();
  EXPECT_EQ(world.running(2), 3u);
  EXPECT_EQ(world.running(1), 1u);
}

TEST(RasBounded, AGoalGetsTheSlotsThatItNeedsBeforeSmallJobs) {
  World world("ras");
  world.node(1, "h1", "r", 4);
  JobInfo& goal = world.job(1);
  goal.deadline = std::chrono::seconds(100);
  world.stage(goal, 0, anywhere(20), {.cpu = 1}, 10);
  world.stage(world.job(2), 0, anywhere(3), {.cpu = 1}, 10);
  world.schedule();
  EXPECT_EQ(world.running(1), 2u) << "200 s of work in 100 s";
  EXPECT_EQ(world.running(2), 2u);
}

}  // namespace
}  // namespace weft::schedulers::ras_rules

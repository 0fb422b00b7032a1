// What the core counts, lists and remembers of jobs, tasks and nodes, seen through its commands and reports.
#include <limits>

#include "base/printable.hpp"
#include "engine/master/core/counters.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::core_bookkeeping {
namespace {

using namespace test;
using std::chrono::seconds;

CoreOptions without_heartbeats() { return {.heartbeat_timeout = Time(0)}; }

TaskFinished end_of(const Driver& driver, std::uint32_t task) {
  TaskFinished event;
  event.attempt = driver.running_attempt(1, 0, task);
  event.node = driver.running.at(event.attempt);
  return event;
}

/// The timer that was set last, which fires at its time.
Result<void> fire_last(Driver& driver) {
  const SetTimer timer = *driver.last<SetTimer>();
  driver.now = timer.at;
  return driver.apply(TimerFired{timer.timer});
}

TEST(CoreBookkeeping, CountersStopAtTheLargestNumberAndAtTheSmallest) {
  Driver driver;
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  for (std::uint32_t task = 0; task < 3; ++task) {
    TaskFinished event = end_of(driver, task);
    event.counters["up"] = std::numeric_limits<std::int64_t>::max() - 1;
    event.counters["down"] = std::numeric_limits<std::int64_t>::min() + 1;
    ASSERT_TRUE(driver.apply(std::move(event)));
  }
  const Counters counters = driver.core.job(JobId(1))->counters;
  EXPECT_EQ(counters.at("up"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(counters.at("down"), std::numeric_limits<std::int64_t>::min());
}

TEST(CoreBookkeeping, AJobHasSoManyCountersAndItIsCountedWhatIsLeftOut) {
  Driver driver;
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 2, 0))})));
  for (std::uint32_t task : {0u, 1u}) {
    TaskFinished event = end_of(driver, task);
    for (std::size_t i = 0; i < kMostCounters - 1; ++i) event.counters[fmt::format("a{}", i)] = 1;
    event.counters[std::string(kMostCounterNameBytes, 'b')] = 1;
    event.counters[std::string(kMostCounterNameBytes + 1, 'a')] = 1;
    event.counters["c"] = 1;
    ASSERT_TRUE(driver.apply(std::move(event)));
  }
  const Counters counters = driver.core.job(JobId(1))->counters;
  EXPECT_EQ(counters.size(), kMostCounters + 1);
  EXPECT_EQ(counters.at("a7"), 2);
  EXPECT_EQ(counters.at(std::string(kMostCounterNameBytes, 'b')), 2);
  EXPECT_EQ(counters.at(std::string(kCountersLeftOut)), 4);
}

TEST(CoreBookkeeping, WhatAWorkerReportsOfAnAttemptHasSoManyCounters) {
  runtime::protocol::Event reported;
  reported.kind = runtime::TaskEnd::finished;
  for (std::size_t i = 0; i < kMostCounters + 7; ++i) reported.counters[fmt::format("{}", i)] = 1;
  const Event event = end_of_attempt(std::move(reported), NodeId(1));
  EXPECT_EQ(std::get<TaskFinished>(event).counters.size(), kMostCounters + 1);
  EXPECT_EQ(std::get<TaskFinished>(event).counters.at(std::string(kCountersLeftOut)), 7);
}

TEST(CoreBookkeeping, WhatAWorkerReportsOfAFailureIsNoLongerThanALine) {
  runtime::protocol::Event reported;
  reported.kind = runtime::TaskEnd::user_code;
  reported.message = std::string(1u << 20, 'a');
  const Event event = end_of_attempt(std::move(reported), NodeId(1));
  EXPECT_EQ(std::get<TaskFailed>(event).message, std::string(kMostPrintable, 'a') + "…");
}

TEST(CoreBookkeeping, AJobMayAskForOneAttemptOfATaskAndForAThousand) {
  Driver driver;
  JobSubmitted event;
  event.job = JobId(1);
  for (const std::uint32_t refused : {0u, kMostAttempts + 1}) {
    event.options.max_attempts = refused;
    EXPECT_EQ(driver.apply(event).error().to_string(), fmt::format("a task has 1 to 1000 attempts, not {}", refused));
  }
  event.options.max_attempts = kMostAttempts;
  EXPECT_TRUE(driver.apply(event));
}

TEST(CoreBookkeeping, AStageAddsUpWhatItsTasksUsed) {
  Driver d;
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(1, {source(0, 2, 1), result(reader(1, {0}, 1, 0))})));
  const auto ms = [](int count) { return std::chrono::milliseconds(count); };
  for (std::uint32_t task : {0u, 1u}) {
    TaskFinished event;
    event.attempt = d.running_attempt(1, 0, task);
    event.node = NodeId(1);
    event.output = {{10, 1}};
    event.shuffle_times = {ms(5), ms(1)};
    event.usage = {ms(100), ms(20), ms(4), ms(30), task == 0 ? 700u : 300u};
    d.running.erase(event.attempt);
    ASSERT_TRUE(d.apply(std::move(event)));
  }
  const StageUsage usage = d.core.job(JobId(1))->stages.at(0).usage;
  EXPECT_EQ(usage.phases, (runtime::TaskPhases{ms(40), ms(10), ms(140), ms(10)})) << "together what they ran";
  EXPECT_EQ(usage.cpu, ms(60));
  EXPECT_EQ(usage.peak_memory, 700u) << "of the one that held the most";
}

TEST(CoreBookkeeping, ResultsOfExactlyWhatAnActionMayHaveAreDelivered) {
  CoreOptions options;
  options.max_result_bytes = 6;
  Driver driver(options);
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  EXPECT_EQ(driver.drain(), 3u) << "two bytes each";
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
  EXPECT_EQ(driver.last<JobFailed>(), nullptr);
}

TEST(CoreBookkeeping, AnActionEndsWithTheLastOfItsTargets) {
  Driver driver;
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 1, 0)), result(source(1, 1, 0))})));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 1, 0)));
  EXPECT_EQ(driver.last<ActionFinished>(), nullptr);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  ASSERT_EQ(driver.all<ActionFinished>().size(), 1u);
  EXPECT_EQ(driver.last<ActionFinished>()->results.size(), 2u);
}

TEST(CoreBookkeeping, AShuffleThatAnotherStageReadsAfterAllIsKept) {
  Driver driver;
  driver.join(1, 8);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 1, 1), result(reader(1, {0}, 1, 0))})));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  ASSERT_TRUE(driver.extend(1, part(1, {result(source(2, 1, 0))}, {0})));  // released while stage 1 reads it
  ASSERT_TRUE(driver.extend(1, part(2, {result(reader(3, {0}, 1, 0))})));
  driver.drain();
  EXPECT_EQ(driver.all<ActionFinished>().size(), 3u);
  EXPECT_TRUE(driver.all<ReleaseShuffle>().empty());
  EXPECT_EQ(driver.launches(0), 1u);
}

TEST(CoreBookkeeping, TheEndOfATaskIsASignOfLife) {
  for (const bool fails : {false, true}) {
    Driver driver({.heartbeat_timeout = seconds(10)});
    driver.join(1, 1);
    driver.submit(1);
    ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 2, 0))})));
    driver.now = seconds(9);
    const AttemptId attempt = driver.running_attempt(1, 0, 0);
    ASSERT_TRUE(fails ? driver.fail_task(attempt) : driver.finish(attempt));
    const SetTimer timer = *driver.all<SetTimer>().front();
    driver.now = timer.at;
    ASSERT_TRUE(driver.apply(TimerFired{timer.timer}));
    ASSERT_NE(driver.core.view().node(NodeId(1)), nullptr) << "heard of a second ago";
    EXPECT_EQ(driver.last<SetTimer>()->at, Time(seconds(19)));
    ASSERT_TRUE(fire_last(driver));
    EXPECT_EQ(driver.core.view().node(NodeId(1)), nullptr);
  }
}

TEST(CoreBookkeeping, AHeartbeatWithoutAForecastLeavesTheLastOne) {
  Driver driver;
  driver.join(1, 2);
  WorkerHeartbeat heartbeat{NodeId(1)};
  heartbeat.forecast.emplace_back();
  ASSERT_TRUE(driver.apply(heartbeat));
  heartbeat.forecast.clear();
  ASSERT_TRUE(driver.apply(heartbeat));
  EXPECT_EQ(driver.core.view().node(NodeId(1))->forecast.size(), 1u);
}

TEST(CoreBookkeeping, JobsCountTheWorkersTheyLostAndNameTheFirst) {
  Driver driver(without_heartbeats());
  driver.join(100, 1);
  driver.submit(1);
  for (std::uint32_t node = 1; node <= 20; ++node) {
    driver.join(node, 1);
    ASSERT_TRUE(driver.lose(node));
  }
  driver.join(21, 1);
  ASSERT_TRUE(driver.apply(WorkerLost{NodeId(21), std::string(kWorkerLeft)}));
  const JobStatus job = driver.core.job(JobId(1)).value();
  EXPECT_EQ(job.workers_lost, 20u) << "one left as it should";
  ASSERT_EQ(job.lost_workers.size(), 16u);
  EXPECT_EQ(job.lost_workers.front(), "worker-1 (test)");
}

TEST(CoreBookkeeping, JobsAreListedByNumberHoweverTheyEnded) {
  Driver driver;
  for (std::uint64_t job = 1; job <= 4; ++job) driver.submit(job);
  ASSERT_TRUE(driver.apply(JobKilled{JobId(3), "test"}));
  ASSERT_TRUE(driver.apply(JobClosed{JobId(2)}));
  std::vector<std::uint64_t> ids;
  for (const JobStatus& job : driver.core.jobs()) ids.push_back(job.id.value());
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST(CoreBookkeeping, OfJobsThatEndedTheLatestAreKept) {
  Driver driver({.finished_jobs_kept = 2});
  for (std::uint64_t job = 1; job <= 3; ++job) {
    driver.submit(job);
    ASSERT_TRUE(driver.apply(JobClosed{JobId(job)}));
  }
  EXPECT_EQ(driver.core.job(JobId(1)).error().code(), Code::not_found);
  EXPECT_EQ(driver.core.job(JobId(2))->state, JobState::finished);
  EXPECT_EQ(driver.core.job(JobId(3))->state, JobState::finished);
}

TEST(CoreBookkeeping, TimeNeverGoesBackAndARefusedEventDoesNotMoveIt) {
  Driver driver(without_heartbeats());
  driver.now = seconds(100);
  EXPECT_FALSE(driver.lose(7)) << "there is none";
  driver.now = seconds(50);
  driver.join(1, 1);
  EXPECT_EQ(driver.core.view().node(NodeId(1))->joined, Time(seconds(50)));
  driver.now = seconds(40);
  driver.join(2, 1);
  EXPECT_EQ(driver.core.view().node(NodeId(2))->joined, Time(seconds(50)));
}

/// Failures of the environment that node 1 is to blame for: an output of the wrong shape.
Result<void> bad_output(Driver& driver, std::uint32_t task) {
  TaskFinished event = end_of(driver, task);
  driver.running.erase(event.attempt);
  return driver.apply(std::move(event));
}

TEST(CoreBookkeeping, ASuccessEndsTheCountOfFailuresOfItsNode) {
  Driver driver({.max_failures_per_node = 2, .heartbeat_timeout = Time(0)});
  driver.join(1, 3);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 3, 1), result(reader(1, {0}, 1, 0))})));
  driver.join(2, 1);
  ASSERT_TRUE(bad_output(driver, 0));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 1)));
  ASSERT_EQ(driver.running.at(driver.running_attempt(1, 0, 2)), NodeId(1));
  ASSERT_TRUE(bad_output(driver, 2));
  EXPECT_TRUE(driver.core.view().node(NodeId(1))->usable()) << "never two in a row";
}

TEST(CoreBookkeeping, AFetchFailureOfAnAttemptThatWasMadeAgainTakesNothingAway) {
  Driver driver(without_heartbeats());
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 1, 2), result(reader(1, {0}, 2, 0))})));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  const AttemptId late = driver.running_attempt(1, 1, 1);
  ASSERT_TRUE(driver.fail_fetch(driver.running_attempt(1, 1, 0), 0, 0, 0, NodeId(1)));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  ASSERT_EQ(driver.launches(0), 2u);
  ASSERT_TRUE(driver.fail_fetch(late, 0, 0, 0, NodeId(1)));
  EXPECT_EQ(driver.launches(0), 2u) << "the output that was made again is there";
  driver.drain();
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
}

TEST(CoreBookkeeping, UnreadableOutputsAreCountedByNode) {
  Driver driver(without_heartbeats());
  driver.join(1, 3);
  driver.join(2, 3);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 6, 1), result(reader(1, {0}, 1, 0))})));
  driver.join(3, 1);
  std::map<std::uint32_t, NodeId> where;
  for (std::uint32_t map = 0; map < 6; ++map) {
    const AttemptId attempt = driver.running_attempt(1, 0, map);
    where[map] = driver.running.at(attempt);
    ASSERT_TRUE(driver.finish(attempt));
  }
  std::map<NodeId, int> failed;
  for (const auto& [map, node] : where) {
    if (++failed[node] > 2) continue;
    ASSERT_TRUE(driver.fail_fetch(driver.running_attempt(1, 1, 0), 0, map, 0, node));
    const AttemptId again = driver.running_attempt(1, 0, map);
    EXPECT_NE(driver.running.at(again), node) << "made again where it can be read";
    ASSERT_TRUE(driver.finish(again));
  }
  for (std::uint32_t node = 1; node <= 2; ++node) EXPECT_TRUE(driver.core.view().node(NodeId(node))->usable()) << node;
}

TEST(CoreBookkeeping, AMapWhoseOutputCannotBeReadRunsElsewhere) {
  for (const std::uint32_t first : {1u, 2u}) {
    Driver driver(without_heartbeats());
    driver.join(first, 1);
    driver.submit(1);
    ASSERT_TRUE(driver.extend(1, part(0, {source(0, 1, 1), result(reader(1, {0}, 1, 0))})));
    ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
    driver.join(3 - first, 1);
    ASSERT_TRUE(driver.fail_fetch(driver.running_attempt(1, 1, 0), 0, 0, 0, NodeId(first)));
    EXPECT_EQ(driver.running.at(driver.running_attempt(1, 0, 0)), NodeId(3 - first));
  }
}

}  // namespace
}  // namespace weft::master::core_bookkeeping

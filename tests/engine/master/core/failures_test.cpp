// Attempts that fail: what counts against the task, how long the next one waits, and which nodes take no more of them.
#include <functional>
#include <map>
#include <vector>

#include "engine/master/core/core.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

TEST(CoreFailures, RetriesOnAnotherNodeWhenThereIsOne) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  const AttemptId first = d.running_attempt(1, 0, 0);
  const NodeId where = d.running.at(first);
  ASSERT_TRUE(d.fail_task(first));
  const AttemptId second = d.running_attempt(1, 0, 0);
  EXPECT_EQ(second.attempt, 1u);
  EXPECT_NE(d.running.at(second), where);
}

TEST(CoreFailures, WaitsForAnotherNodeThatIsBusyRatherThanRetryOnTheSameOne) {
  Driver d;
  d.join(1, 2);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 3, 0))})));
  AttemptId on_one{}, on_two{};
  for (const auto& [attempt, node] : d.running) (node == NodeId(1) ? on_one : on_two) = attempt;
  ASSERT_TRUE(d.fail_task(on_one));
  EXPECT_FALSE(d.is_running(1, 0, on_one.task.index));
  ASSERT_TRUE(d.finish(on_two));
  EXPECT_EQ(d.running.at(d.running_attempt(1, 0, on_one.task.index)), NodeId(2));
}

TEST(CoreFailures, RetriesOnTheSameNodeWhenTheOtherOneLeaves) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  d.join(2, 1);
  d.submit(2);
  ASSERT_TRUE(d.extend(2, part(0, {result(source(0, 1, 0))})));  // keeps node 2 busy
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0)));
  EXPECT_FALSE(d.is_running(1, 0, 0));
  ASSERT_TRUE(d.lose(2));
  EXPECT_TRUE(d.is_running(1, 0, 0));
}

TEST(CoreFailures, FailsTheJobAfterTheLastAttemptWithTheWholeStory) {
  Driver d;
  d.join(1, 1);
  d.submit(1, 3);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 2, 0))})));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::user_code, "bad line 7"));
  ASSERT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_EQ(d.last<JobFailed>()->error.to_string(), "stage 0 (source0) task 0 failed 3 times; last on worker-1: bad line 7");
  EXPECT_EQ(d.last<JobFailed>()->error.code(), Code::user_code);
  EXPECT_EQ(d.all<ReleaseJob>().size(), 1u);
  EXPECT_EQ(d.core.job(JobId(1))->state, JobState::failed);
  EXPECT_FALSE(d.extend(1, part(1, {})));
}

TEST(CoreFailures, FailsTheJobAtOnceOnAnotherPlan) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::plan_mismatch, "fingerprint"));
  EXPECT_EQ(d.last<JobFailed>()->error.code(), Code::plan_mismatch);
}

TEST(CoreFailures, FailsTheJobAtOnceOnInputThatIsRefused) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::refused, "in.gz is compressed"));
  ASSERT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_EQ(d.last<JobFailed>()->error.code(), Code::invalid_argument);
  EXPECT_EQ(d.all<LaunchTask>().size(), 1u) << "it was tried again";
}

/// A cluster of `nodes` nodes with one slot each, in which job 1 has `tasks` tasks. No node is lost for being silent.
struct OneJob : Driver {
  OneJob(std::uint32_t nodes, std::uint32_t tasks, CoreOptions options = {}) : Driver(without_timeout(std::move(options))) {
    for (std::uint32_t node = 1; node <= nodes; ++node) join(node, 1);
    submit(1);
    EXPECT_TRUE(extend(1, part(0, {result(source(0, tasks, 0))})));
  }
  static CoreOptions without_timeout(CoreOptions options) {
    options.heartbeat_timeout = Time(0);
    return options;
  }
};

TEST(CoreFailures, ExcludesANodeThatKeepsFailingForAWhile) {
  CoreOptions options;
  options.max_failures_per_node = 2;
  options.exclusion = std::chrono::minutes(1);
  OneJob d(2, 6, options);
  for (int i = 0; i < 2; ++i) {
    for (const auto& [attempt, node] : std::map(d.running)) {
      if (node != NodeId(1)) continue;
      ASSERT_TRUE(d.fail_task(attempt, FailureKind::environment, "disk full"));
    }
  }
  ASSERT_FALSE(d.core.view().node(NodeId(1))->usable());
  EXPECT_EQ(d.running.size(), 1u);
  const auto timer = *d.last<SetTimer>();
  EXPECT_EQ(timer.at, std::chrono::minutes(1));
  d.now = timer.at;
  ASSERT_TRUE(d.apply(TimerFired{timer.timer}));
  EXPECT_TRUE(d.core.view().node(NodeId(1))->usable());
  EXPECT_EQ(d.running.size(), 2u);
}

/// Three of four workers cannot run anything: they are excluded before the attempts of a task are used up.
TEST(CoreFailures, FailuresOfNodesThatCannotRunTasksAreNotTheTasks) {
  OneJob d(4, 1);
  std::map<NodeId, int> failed;
  while (!d.running.empty() && d.running.begin()->second.value() <= 3) {
    ++failed[d.running.begin()->second];
    ASSERT_TRUE(d.fail_task(d.running.begin()->first, FailureKind::environment, "disk full"));
    ASSERT_EQ(d.last<JobFailed>(), nullptr);
  }
  ASSERT_EQ(d.running.size(), 1u) << "on the fourth";
  EXPECT_LE(failed.size(), 3u);
}

TEST(CoreFailures, ATaskThatRunsNowhereFailsThoughOtherTasksRunWell) {
  CoreOptions options;
  options.max_failures_per_node = 100;
  OneJob d(2, 1, options);
  d.submit(2);
  ASSERT_TRUE(d.extend(2, part(0, {result(source(0, 40, 0))})));
  int attempts = 0;
  while (d.last<JobFailed>() == nullptr && attempts < 20) {
    for (const auto& [attempt, node] : std::map(d.running)) {
      if (attempt.task.job == JobId(2)) {
        ASSERT_TRUE(d.finish(attempt));
      } else {
        ++attempts;
        ASSERT_TRUE(d.fail_task(attempt, FailureKind::environment, "no such file"));
      }
    }
  }
  ASSERT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_LE(attempts, 8) << "four for its nodes, and four of its own";
}

TEST(CoreFailures, WhereEveryNodeFailedTheAttemptsAreCounted) {
  OneJob d(2, 1);
  int attempts = 0;
  for (; d.last<JobFailed>() == nullptr && attempts < 20; ++attempts) {
    ASSERT_TRUE(d.fail_task(d.running.begin()->first, FailureKind::environment, "disk full"));
    for (int step = 0; step < 60 && d.running.empty() && d.last<JobFailed>() == nullptr; ++step)
      d.pass_until(d.now + std::chrono::seconds(1));
  }
  EXPECT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_LE(attempts, 10);
}

TEST(CoreFailures, NeverExcludesTheLastNode) {
  CoreOptions options;
  options.max_failures_per_node = 1;
  Driver d(options);
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::environment));
  d.pass_until(std::chrono::seconds(1));
  EXPECT_TRUE(d.is_running(1, 0, 0));
}

/// Of a task that fails again and again: how long it pauses before each further attempt, in milliseconds.
std::vector<std::int64_t> pauses(Driver& d, std::size_t count, const std::function<void()>& fault) {
  std::vector<std::int64_t> found;
  while (found.size() < count && d.last<JobFailed>() == nullptr) {
    fault();
    const Time failed = d.now;
    for (int step = 0; step < 60'000 && !d.is_running(1, 0, 0) && d.last<JobFailed>() == nullptr; ++step)
      d.pass_until(d.now + std::chrono::milliseconds(1));
    if (d.is_running(1, 0, 0)) found.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(d.now - failed).count());
  }
  return found;
}

TEST(CoreFailures, AttemptsOfATaskThatNoOtherWorkerCanTakePauseLongerAndLonger) {
  Driver d({.max_failures_per_node = 100, .heartbeat_timeout = Time(0)});
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  const auto found =
      pauses(d, 10, [&] { ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::environment, "disk full")); });
  EXPECT_EQ(found, (std::vector<std::int64_t>{250, 1000, 4000}));
  ASSERT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_NE(d.last<JobFailed>()->error.to_string().find("failed 4 times"), std::string::npos);
}

/// So that a disk which fails beside another fault does not use up the attempts of a task within a second.
TEST(CoreFailures, FaultsOfTheEnvironmentWithinAMinuteOfALossCountAsLosses) {
  Driver d({.max_failures_per_node = 100, .heartbeat_timeout = Time(0)});
  for (std::uint32_t node = 1; node <= 3; ++node) d.join(node, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.apply(WorkerLost{NodeId(3), "SIGKILL"}));
  const auto fault = [&] { ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::environment, "disk full")); };
  EXPECT_EQ(pauses(d, 6, fault), (std::vector<std::int64_t>{250, 1000, 4000, 16000, 16000, 16000})) << "more than a task may fail";
  d.pass_until(std::chrono::minutes(2));
  EXPECT_EQ(pauses(d, 10, fault), (std::vector<std::int64_t>{0, 0, 0})) << "the loss is long ago";
  ASSERT_NE(d.last<JobFailed>(), nullptr);
}

TEST(CoreFailures, AFaultOfTheEnvironmentAfterAWorkerLeftInOrderCounts) {
  Driver d({.max_failures_per_node = 100, .heartbeat_timeout = Time(0)});
  for (std::uint32_t node = 1; node <= 3; ++node) d.join(node, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.apply(WorkerLost{NodeId(3), std::string(kWorkerLeft)}));
  const auto fault = [&] { ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::environment, "disk full")); };
  EXPECT_EQ(pauses(d, 10, fault), (std::vector<std::int64_t>{0, 0, 0, 0}))
      << "the first is the node's, which has one that is good beside it";
  ASSERT_NE(d.last<JobFailed>(), nullptr);
}

TEST(CoreFailures, ATaskThatPausesGoesOnWhenAnotherWorkerJoins) {
  Driver d({.heartbeat_timeout = Time(0)});
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), FailureKind::environment, "disk full"));
  EXPECT_FALSE(d.is_running(1, 0, 0));
  d.join(2, 1);
  EXPECT_TRUE(d.is_running(1, 0, 0));
}

TEST(CoreFailures, AttemptsThatFailedInTheUsersCodeOrWhileAnotherWorkerIsThereDoNotPause) {
  for (const bool alone : {true, false}) {
    Driver d({.max_failures_per_node = 100, .heartbeat_timeout = Time(0)});
    d.join(1, 1);
    if (!alone) d.join(2, 1);
    d.submit(1);
    ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
    const auto found = pauses(d, 10, [&] {
      ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0), alone ? FailureKind::user_code : FailureKind::environment));
    });
    EXPECT_EQ(found, std::vector<std::int64_t>(alone ? 3 : 4, 0)) << "the first is the node's where there is a good one";
  }
}

TEST(CoreFailures, AWorkerThatCrashesAgainAndAgainIsNotOfferedTasksAndTheJobOutlivesIt) {
  Driver d({.heartbeat_timeout = Time(0)});
  const auto join = [&](std::uint32_t id) {
    WorkerJoined event;
    event.node = NodeId(id);
    event.name = event.host = "w0";
    event.capacity.cpu = 1;
    ASSERT_TRUE(d.apply(std::move(event)));
  };
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  for (std::uint32_t id = 1; id <= 3; ++id) {
    join(id);
    ASSERT_TRUE(d.is_running(1, 0, 0)) << id;
    d.running.clear();
    d.now += std::chrono::seconds(1);
    ASSERT_TRUE(d.apply(WorkerLost{NodeId(id), "SIGABRT"}));
  }
  for (std::uint32_t id = 4; id <= 30; ++id) {  // more often than a task may be lost
    join(id);
    ASSERT_FALSE(d.is_running(1, 0, 0)) << id;
    EXPECT_EQ(d.core.why_excluded(NodeId(id)).find("its worker crashed "), 0u);
    d.now += std::chrono::seconds(1);
    ASSERT_TRUE(d.apply(WorkerLost{NodeId(id), "SIGABRT"}));
  }
  EXPECT_EQ(d.last<JobFailed>(), nullptr);
  join(31);
  d.pass_until(d.now + std::chrono::minutes(10));
  EXPECT_TRUE(d.is_running(1, 0, 0)) << "it lives";
  EXPECT_EQ(d.core.why_excluded(NodeId(31)), "");
}

TEST(CoreFailures, ATaskMayBeStoppedForAnothersSakeAsOftenAsItTakes) {
  Driver driver;
  driver.join(1, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 1, 0))})));
  for (int times = 0; times < 50; ++times)
    ASSERT_TRUE(driver.fail_task(driver.running_attempt(1, 0, 0), FailureKind::killed, "its executor was killed"));
  driver.finish(driver.running_attempt(1, 0, 0));
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
}

TEST(CoreFailures, AWrongNumberOfPartitionsIsAFailureOfTheAttempt) {
  Driver d;
  d.join(1, 1);
  d.submit(1, 1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 1, 2), result(reader(1, {0}, 2, 0))})));
  TaskFinished event;
  event.attempt = d.running_attempt(1, 0, 0);
  event.node = NodeId(1);
  event.output.resize(5);
  ASSERT_TRUE(d.apply(std::move(event)));
  EXPECT_NE(d.last<JobFailed>(), nullptr);
}

TEST(CoreFailures, ATaskWhoseExecutorDiedWithADeviceRunsWithoutOne) {
  Driver d;
  WorkerJoined lends;
  lends.node = NodeId(1);
  lends.name = lends.host = "one";
  lends.rack = "rack-0";
  lends.capacity.cpu = 2;
  lends.capacity.accelerator = 1;
  lends.attributes = {{"accelerator", "gpu"}};
  ASSERT_TRUE(d.apply(std::move(lends)));
  plan::Stage stage = result(source(0, 2, 0));
  stage.variants = {"accelerator"};
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {stage})));
  const auto launch = [&](std::uint32_t task) {
    const LaunchTask* last = nullptr;
    for (const Command& command : d.commands)
      if (const auto* one = std::get_if<LaunchTask>(&command); one != nullptr && one->attempt.task.index == task) last = one;
    return *last;
  };
  EXPECT_TRUE(launch(0).device);
  EXPECT_EQ(launch(0).spec.variants, std::vector<std::string>{"accelerator"});
  EXPECT_FALSE(launch(1).device) << "the other one does not wait for it";
  EXPECT_TRUE(launch(1).spec.variants.empty());

  ASSERT_TRUE(d.apply(TaskFailed{d.running_attempt(1, 0, 0), NodeId(1), FailureKind::crashed, "signal 11", {}, true}));
  EXPECT_EQ(launch(0).attempt.attempt, 1u);
  EXPECT_FALSE(launch(0).device) << "the function takes over";
  EXPECT_EQ(d.core.view().node(NodeId(1))->used.accelerator, 0);
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 1)));
}

}  // namespace
}  // namespace weft::master

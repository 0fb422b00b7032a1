// What a restarted core makes of attempts that come back with their worker, and of which nothing was on the disk.
#include "engine/master/core/restored.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

/// A job whose four maps have ended on node 1, which is away, and whose stage 1 reads them in two tasks.
class RestoredAttempts : public testing::Test {
 protected:
  void restore(std::uint32_t restarts, std::vector<StageShape> shapes) {
    Restored restored;
    RestoredNode node;
    node.joined.node = NodeId(1);
    node.joined.name = "w1";
    node.joined.capacity.cpu = 4;
    node.joined.capacity.accelerator = 1;
    node.joined.attributes = {{"accelerator", "gpu"}};
    restored.nodes.push_back(std::move(node));
    RestoredJob job;
    job.submission.job = JobId(1);
    job.submission.name = "job";
    job.restarts = restarts;
    plan::Stage last = result(reader(1, {0}, 2, 0));
    last.variants = {"accelerator"};
    job.parts.push_back(part(0, {source(0, 4, 2), std::move(last)}));
    shapes.push_back({StageId(0), {}, {}, 0});
    job.shapes = std::move(shapes);
    for (std::uint32_t map = 0; map < 4; ++map) {
      RestoredEnd end;
      end.event.attempt = {{JobId(1), StageId(0), map}, 0};
      end.event.node = NodeId(1);
      end.event.output.assign(2, {std::uint64_t{1} << 30, 10});
      end.restarts = restarts;
      job.finished.push_back(std::move(end));
      held.push_back({JobId(1), ShuffleId(0), map, 0});
    }
    restored.jobs.push_back(std::move(job));
    core.restore(Time(1000), std::move(restored), commands);
  }
  /// Whether that attempt at task 0 of stage 1 goes on when the worker says that it runs.
  bool goes_on(std::uint32_t attempt) {
    const AttemptId running{{JobId(1), StageId(1), 0}, attempt};
    commands.clear();
    const auto back = core.apply(Time(2000), WorkerRejoined{NodeId(1), {running}, held}, commands);
    EXPECT_TRUE(back) << back.error().to_string();
    const bool killed = std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
      const auto* kill = std::get_if<KillTask>(&command);
      return kill != nullptr && kill->attempt == running;
    });
    EXPECT_NE(core.view().node(NodeId(1))->running.contains(running), killed);
    for (const Command& command : commands) {
      const auto* launch = std::get_if<LaunchTask>(&command);
      EXPECT_TRUE(launch == nullptr || launch->attempt.task != running.task || launch->attempt.attempt > attempt)
          << "a number is given once";
    }
    return !killed;
  }

  /// Whether task 1 of stage 1 gets the node's device when attempt 0 at task 0 runs there.
  bool other_gets_device(bool held_by_first) {
    restore(1, {{StageId(1), {}, {}, 0}});
    const AttemptId first{{JobId(1), StageId(1), 0}, 0};
    WorkerRejoined back{NodeId(1), {first}, held};
    if (held_by_first) back.with_device = {first, {{JobId(1), StageId(1), 1}, 0}, {{JobId(9), StageId(1), 0}, 0}};
    commands.clear();
    EXPECT_TRUE(core.apply(Time(2000), std::move(back), commands));
    EXPECT_EQ(core.view().node(NodeId(1))->used.accelerator, 1);
    EXPECT_EQ(core.view().node(NodeId(1))->with_device.contains(first), held_by_first);
    for (const Command& command : commands)
      if (const auto* launch = std::get_if<LaunchTask>(&command); launch != nullptr && launch->attempt.task.index == 1)
        return launch->device;
    ADD_FAILURE() << "task 1 is not launched";
    return false;
  }

  Core core{schedulers::make_scheduler("fifo").value(), {}};
  std::vector<Command> commands;
  std::vector<runtime::protocol::HeldOutput> held;
};

TEST_F(RestoredAttempts, GoOnWhenItIsKnownWhatTheirTasksRead) {
  restore(1, {{StageId(1), {}, {}, 0}});
  EXPECT_TRUE(goes_on(0));
}

TEST_F(RestoredAttempts, AreKilledWhenTheirMasterMayHaveMadeOtherTasks) {
  restore(1, {});
  EXPECT_FALSE(goes_on(0)) << "how many tasks the stage had then was not on the disk";
}

TEST_F(RestoredAttempts, OfTheMasterBeforeTheOneThatMadeTheTasksAreKilled) {
  restore(2, {{StageId(1), {}, {}, 8}});
  EXPECT_FALSE(goes_on(0));
}

TEST_F(RestoredAttempts, OfTheMasterThatMadeTheTasksGoOn) {
  restore(2, {{StageId(1), {}, {}, 8}});
  EXPECT_TRUE(goes_on(8));
}

TEST_F(RestoredAttempts, WithNumbersThatNoMasterGaveAreKilledAndChangeNothing) {
  restore(1, {{StageId(1), {}, {}, 0}});
  const TaskId first{JobId(1), StageId(1), 0}, second{JobId(1), StageId(1), 1};
  const std::vector<AttemptId> strange{{first, 60000}, {first, 120000}, {first, 200000}, {first, UINT32_MAX}, {second, UINT32_MAX}};
  WorkerRejoined back{NodeId(1), strange, held};
  back.running.push_back({first, 5});
  commands.clear();
  ASSERT_TRUE(core.apply(Time(2000), std::move(back), commands));
  std::vector<AttemptId> killed;
  for (const Command& command : commands)
    if (const auto* kill = std::get_if<KillTask>(&command)) killed.push_back(kill->attempt);
  EXPECT_EQ(killed, strange);
  EXPECT_EQ(core.view().task(first)->attempt(), 5u);
  EXPECT_TRUE(core.view().node(NodeId(1))->running.contains({first, 5}));
  EXPECT_LT(core.view().task(second)->attempts, 100u);
  EXPECT_TRUE(core.apply(Time(3000), WorkerLost{NodeId(1), "test"}, commands));
}

TEST_F(RestoredAttempts, HoldTheDeviceThatTheirWorkerSays) { EXPECT_FALSE(other_gets_device(true)); }

TEST_F(RestoredAttempts, LeaveADeviceThatTheyDoNotHoldToOthers) { EXPECT_TRUE(other_gets_device(false)); }

/// The larger worker left shortly before the master died.
TEST(RestoredJobs, WhoseTasksFitNoWorkerFailAfterTheirTime) {
  Core core(schedulers::make_scheduler("fifo").value(), {.heartbeat_timeout = Time(0), .placement_wait = std::chrono::seconds(60)});
  Restored restored;
  RestoredNode node;
  node.joined.node = NodeId(1);
  node.joined.capacity.cpu = 2;
  restored.nodes.push_back(std::move(node));
  RestoredJob job;
  job.submission.job = JobId(1);
  job.submission.options.demand = {.cpu = 8};
  job.parts.push_back(part(0, {result(source(0, 3, 0))}));
  restored.jobs.push_back(std::move(job));
  std::vector<Command> commands;
  core.restore(Time(1000), std::move(restored), commands);
  const Time due = Time(1000) + std::chrono::seconds(60);
  std::vector<Event> timers;
  for (const Command& command : commands) {
    const auto* timer = std::get_if<SetTimer>(&command);
    if (timer != nullptr && timer->at == due) timers.emplace_back(TimerFired{timer->timer});
  }
  ASSERT_TRUE(core.apply(Time(2000), WorkerRejoined{NodeId(1), {}, {}}, commands));
  EXPECT_EQ(core.job(JobId(1)).value().state, JobState::running) << "a larger one may come back";
  for (Event& timer : timers) ASSERT_TRUE(core.apply(due, std::move(timer), commands));
  EXPECT_EQ(core.job(JobId(1)).value().state, JobState::failed);
}

}  // namespace
}  // namespace weft::master

// Stages whose tasks may write something else when they run again: what was made of a lost output is not used beside what is made
// of the one that takes its place.
#include "engine/master/core/rollback.hpp"

#include <algorithm>

#include "engine/master/core/restored.hpp"
#include "engine/master/log/event_log.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

plan::Stage indeterminate(plan::Stage stage) {
  stage.indeterminate = true;
  return stage;
}

/// Three nodes of two slots. Stage 0: four maps; stage 1 reads them in four tasks.
class Rollbacks : public testing::Test {
 protected:
  explicit Rollbacks(CoreOptions options = {}) : d(options) {
    for (std::uint32_t node = 1; node <= 3; ++node) d.join(node, 2);
    d.submit(1);
  }

  void finish_all(std::uint32_t stage) {
    for (std::uint32_t index = 0; index < 4; ++index) {
      if (!d.is_running(1, stage, index)) continue;
      ASSERT_TRUE(d.finish(d.running_attempt(1, stage, index)));
    }
  }
  /// Loses the output of a map: a reader could not have it.
  void lose_output(std::uint32_t shuffle, std::uint32_t map, const AttemptId& reader) {
    const schedulers::TaskInfo& info = task(shuffle, map);
    ASSERT_TRUE(d.fail_fetch(reader, shuffle, map, info.attempt(), info.node));
  }
  const schedulers::TaskInfo& task(std::uint32_t stage, std::uint32_t index) const {
    return d.core.view().stage(JobId(1), StageId(stage))->tasks[index];
  }
  std::uint32_t finished(std::uint32_t stage) const { return d.core.view().stage(JobId(1), StageId(stage))->finished; }

  Driver d;
};

TEST_F(Rollbacks, WhatReadALostOutputRunsAgain) {
  ASSERT_TRUE(d.extend(1, part(0, {indeterminate(source(0, 4, 4)), result(reader(1, {0}, 4, 0))})));
  finish_all(0);
  ASSERT_TRUE(d.finish(d.running_attempt(1, 1, 0)));
  ASSERT_EQ(finished(1), 1u);
  const AttemptId running = d.running_attempt(1, 1, 1);
  lose_output(0, 3, d.running_attempt(1, 1, 2));
  EXPECT_EQ(finished(1), 0u);
  EXPECT_EQ(finished(0), 3u) << "only the lost output is made again";
  EXPECT_FALSE(d.is_running(1, 1, 1));
  EXPECT_FALSE(d.finish(running, NodeId(1))) << "its end comes too late";
  ASSERT_EQ(d.all<StageRolledBack>().size(), 1u);
  const StageRolledBack& back = *d.last<StageRolledBack>();
  EXPECT_EQ(back.stage, StageId(1));
  EXPECT_EQ(back.tasks, 3u) << "one had finished, two ran";
  EXPECT_EQ(back.reason, "outputs of stage 0 (source0) were lost, and those that are made again may be others");
  EXPECT_EQ(command_json(Time(3), Command(back)),
            R"({"time_ns":3,"event":"stage_rolled_back","job":1,"stage":1,"attempts":3,"reason":")" + back.reason + "\"}");
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 3)));
  finish_all(1);
  ASSERT_EQ(d.all<ActionFinished>().size(), 1u);
  EXPECT_EQ(d.last<ActionFinished>()->results[0].size(), 4u);
}

TEST_F(Rollbacks, OutputsThatAreTheSameAgainAreReadBesideTheFormer) {
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 4), result(reader(1, {0}, 4, 0))})));
  finish_all(0);
  ASSERT_TRUE(d.finish(d.running_attempt(1, 1, 0)));
  lose_output(0, 3, d.running_attempt(1, 1, 2));
  EXPECT_EQ(finished(1), 1u);
  EXPECT_TRUE(d.is_running(1, 1, 1));
  EXPECT_TRUE(d.all<StageRolledBack>().empty());
}

TEST_F(Rollbacks, AnOutputWithAReplicaIsNotMadeAgain) {
  d.submit(2, 4, 2);
  ASSERT_TRUE(d.extend(2, part(0, {indeterminate(source(0, 1, 6)), result(reader(1, {0}, 6, 0))})));
  const AttemptId map = d.running_attempt(2, 0, 0);
  const NodeId node = d.running.at(map);
  ASSERT_TRUE(d.finish(map));
  const ReplicateOutput copy = *d.last<ReplicateOutput>();
  ASSERT_TRUE(d.apply(OutputReplicated{{copy.node, copy.job, copy.shuffle, copy.output.map, copy.output.attempt}}));
  ASSERT_EQ(d.running.size(), 6u) << "more than the node has slots";
  std::erase_if(d.running, [&](const auto& entry) { return entry.second == node; });
  ASSERT_TRUE(d.lose(node.value()));
  EXPECT_TRUE(d.all<StageRolledBack>().empty());
}

TEST_F(Rollbacks, WhatDependsOnItThroughOthersRunsAgain) {
  ASSERT_TRUE(d.extend(1, part(0, {indeterminate(source(0, 4, 4)), reader(1, {0}, 4, 4), result(reader(2, {1}, 4, 0))})));
  finish_all(0);
  finish_all(1);
  ASSERT_TRUE(d.finish(d.running_attempt(1, 2, 0)));
  ASSERT_TRUE(d.extend(1, part(1, {result(reader(3, {0}, 4, 0))})));
  EXPECT_TRUE(d.all<StageRolledBack>().empty());
  lose_output(0, 0, d.running_attempt(1, 3, 0));
  EXPECT_EQ(d.all<StageRolledBack>().size(), 3u) << "stages 1, 2 and 3: what 2 reads of 1 is not of what 3 reads of 0";
  EXPECT_EQ(finished(1), 0u);
  EXPECT_EQ(finished(2), 0u);
}

TEST_F(Rollbacks, ResultsThatTheDriverHasStay) {
  ASSERT_TRUE(d.extend(1, part(0, {indeterminate(source(0, 4, 4)), result(reader(1, {0}, 4, 0))})));
  finish_all(0);
  finish_all(1);
  ASSERT_EQ(d.all<ActionFinished>().size(), 1u);
  ASSERT_TRUE(d.extend(1, part(1, {result(reader(2, {0}, 4, 0))})));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 2, 0)));
  lose_output(0, 1, d.running_attempt(1, 2, 1));
  EXPECT_EQ(finished(1), 4u);
  EXPECT_EQ(finished(2), 0u);
  ASSERT_EQ(d.all<StageRolledBack>().size(), 1u);
}

/// A master that is started again knows what its predecessor discarded.
class RestoredRollbacks : public testing::Test {
 protected:
  /// Stage 0 has ended, and of stage 1, whose attempts below `first` do not count, task 0 in attempt 3. Node 2 is gone.
  void restore(std::uint32_t first, NodeId node_of_map = NodeId(1)) {
    Restored restored;
    RestoredJob job;
    job.parts.push_back(part(0, {indeterminate(source(0, 1, 4)), result(reader(1, {0}, 4, 0))}));
    job.shapes = {{StageId(0), {}, {}, 0}, {StageId(1), {}, {}, first}};
    job.finished.push_back(end(0, 0, 0, node_of_map, 4));
    job.finished.push_back(end(1, 0, 3, NodeId(1), 0));
    job.launched.push_back({{{JobId(1), StageId(1), 1}, 3}, NodeId(1), Time(0), 0, 4});
    restore(std::move(restored), std::move(job));
  }
  /// All tasks of stages 0 and 1 have ended, those of stage 0 on node 2, which is gone.
  void restore(std::vector<plan::PlanPart> parts) {
    Restored restored;
    RestoredJob job;
    const bool writes = parts[0].stages[1].output == plan::OutputKind::shuffle;
    job.parts = std::move(parts);
    job.shapes = {{StageId(0), {}, {}, 0}, {StageId(1), {}, {}, 0}};
    job.finished.push_back(end(0, 0, 0, NodeId(2), 4));
    for (std::uint32_t index = 0; index < 4; ++index) job.finished.push_back(end(1, index, 0, NodeId(1), writes ? 4 : 0));
    restore(std::move(restored), std::move(job));
  }
  static RestoredEnd end(std::uint32_t stage, std::uint32_t index, std::uint32_t attempt, NodeId node, std::size_t partitions) {
    RestoredEnd made;
    made.event.attempt = {{JobId(1), StageId(stage), index}, attempt};
    made.event.node = node;
    made.event.output.assign(partitions, {100, 10});
    return made;
  }
  std::vector<StageRolledBack> rolled_back() const {
    std::vector<StageRolledBack> found;
    for (const Command& command : commands)
      if (const auto* back = std::get_if<StageRolledBack>(&command)) found.push_back(*back);
    return found;
  }
  std::uint32_t finished(std::uint32_t stage) const { return core.view().stage(JobId(1), StageId(stage))->finished; }
  std::uint32_t running(std::uint32_t stage) const { return core.view().stage(JobId(1), StageId(stage))->running; }

  Core core{schedulers::make_scheduler("fifo").value(), {}};
  std::vector<Command> commands;

 private:
  void restore(Restored restored, RestoredJob job) {
    RestoredNode node;
    node.joined.node = NodeId(1);
    node.joined.name = "w1";
    node.joined.capacity.cpu = 8;
    restored.nodes.push_back(std::move(node));
    job.submission.job = JobId(1);
    restored.jobs.push_back(std::move(job));
    core.restore(Time(1000), std::move(restored), commands);
  }
};

TEST_F(RestoredRollbacks, EndsAndLaunchesThatCountAreTakenUp) {
  restore(3);
  EXPECT_EQ(finished(1), 1u);
  EXPECT_EQ(running(1), 1u);
}

TEST_F(RestoredRollbacks, EndsAndLaunchesThatDoNotCountAreForgotten) {
  restore(4);
  EXPECT_EQ(finished(1), 0u);
  EXPECT_EQ(running(1), 0u);
  const AttemptId old{{JobId(1), StageId(1), 2}, 3};
  commands.clear();
  ASSERT_TRUE(core.apply(Time(2000), WorkerRejoined{NodeId(1), {old}, {{JobId(1), ShuffleId(0), 0, 0}}}, commands));
  bool killed = false;
  for (const Command& command : commands) {
    if (const auto* kill = std::get_if<KillTask>(&command)) killed |= kill->attempt == old;
    if (const auto* launch = std::get_if<LaunchTask>(&command)) {
      EXPECT_GE(launch->attempt.attempt, 4u);
    }
  }
  EXPECT_TRUE(killed);
}

TEST_F(RestoredRollbacks, WhatItsPredecessorHadNoTimeToDiscardIsDiscarded) {
  restore(0, NodeId(2));
  EXPECT_EQ(finished(0), 0u);
  EXPECT_EQ(finished(1), 0u);
  EXPECT_EQ(running(1), 0u);
  ASSERT_EQ(rolled_back().size(), 1u);
  EXPECT_EQ(rolled_back()[0].stage, StageId(1));
  EXPECT_EQ(rolled_back()[0].tasks, 1u);
  EXPECT_EQ(core.shape(JobId(1), StageId(1))->first, 4u);
}

/// Its result goes to the driver, which may have it already.
TEST_F(RestoredRollbacks, WhatAnActionGaveStays) {
  restore({part(0, {indeterminate(source(0, 1, 4)), result(reader(1, {0}, 4, 0))}), part(1, {result(reader(2, {0}, 4, 0))})});
  EXPECT_EQ(finished(0), 0u);
  EXPECT_EQ(finished(1), 4u);
  EXPECT_TRUE(
      std::any_of(commands.begin(), commands.end(), [](const auto& c) { return std::holds_alternative<ActionFinished>(c); }));
  EXPECT_TRUE(rolled_back().empty());
}

/// While nobody needs the output that was lost, what was made of it counts.
TEST_F(RestoredRollbacks, OfWhatWasLostBeforeBeginsWhenSomebodyNeedsIt) {
  restore({part(0, {indeterminate(source(0, 1, 4)), reader(1, {0}, 4, 4), result(reader(2, {1}, 4, 0))})});
  EXPECT_EQ(finished(1), 4u);
  EXPECT_TRUE(rolled_back().empty());
  WorkerRejoined back{NodeId(1), {}, {}};
  for (std::uint32_t map = 0; map < 3; ++map) back.outputs.push_back({JobId(1), ShuffleId(1), map, 0});
  ASSERT_TRUE(core.apply(Time(2000), back, commands));
  EXPECT_EQ(finished(1), 0u);
  ASSERT_EQ(rolled_back().size(), 1u);
  EXPECT_EQ(rolled_back()[0].tasks, 3u);
}

/// It may have read an output that its master had made again, of which the next one knows nothing.
TEST_F(RestoredRollbacks, AnUnknownAttemptDoesNotGoOn) {
  restore(0);
  const AttemptId unknown{{JobId(1), StageId(1), 2}, 3};
  commands.clear();
  ASSERT_TRUE(core.apply(Time(2000), WorkerRejoined{NodeId(1), {unknown}, {{JobId(1), ShuffleId(0), 0, 0}}}, commands));
  EXPECT_TRUE(std::any_of(commands.begin(), commands.end(), [&](const Command& command) {
    const auto* kill = std::get_if<KillTask>(&command);
    return kill != nullptr && kill->attempt == unknown;
  }));
}

}  // namespace
}  // namespace weft::master

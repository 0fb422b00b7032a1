#include "engine/master/core/core.hpp"

#include <functional>
#include <set>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;
using ::testing::Test;

std::string text(const Buffer& buffer) { return std::string(as_chars(buffer.view())); }

TEST(Core, RunsMapsThenReducesAndReportsResultsPerTask) {
  Driver d;
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 3, 2), result(reader(1, {0}, 2, 0))})));
  EXPECT_EQ(d.running.size(), 2u);  // slots
  EXPECT_EQ(d.launches(1), 0u);     // no child before its parents
  EXPECT_EQ(d.drain(), 5u);
  ASSERT_EQ(d.all<ActionFinished>().size(), 1u);
  const auto& results = d.last<ActionFinished>()->results;
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].size(), 2u);
  EXPECT_EQ(text(results[0][1]), "r1");
  auto status = d.core.job(JobId(1)).value();
  EXPECT_EQ(status.counters.at("tasks"), 5);
  EXPECT_EQ(status.shuffle_bytes, 600u);
  EXPECT_EQ(status.input_records, 35u);
  ASSERT_TRUE(d.apply(JobClosed{JobId(1)}));
  EXPECT_EQ(d.all<ReleaseJob>().size(), 1u);
  EXPECT_EQ(d.all<JobFinished>().size(), 1u);
  EXPECT_EQ(d.core.job(JobId(1))->state, JobState::finished);
  EXPECT_FALSE(d.apply(JobClosed{JobId(1)}));
}

TEST(Core, SendsLocationsBeforeTheFirstReaderOnANodeAndOnlyOnce) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 3), result(reader(1, {0}, 3, 0))})));
  d.drain();
  ASSERT_EQ(d.all<ShuffleLocations>().size(), 1u);
  EXPECT_EQ(d.last<ShuffleLocations>()->outputs->size(), 2u);
  bool told = false;
  for (const auto& command : d.commands) {
    if (std::holds_alternative<ShuffleLocations>(command)) told = true;
    if (const auto* launch = std::get_if<LaunchTask>(&command); launch != nullptr && launch->attempt.task.stage == StageId(1)) {
      EXPECT_TRUE(told);
      EXPECT_EQ(launch->inputs, std::vector{ShuffleId(0)});
    }
  }
}

TEST(Core, ReadersAreSentForWhichPartitionsMapsWrote) {
  Driver d;
  d.join(1, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 3, 1000), result(reader(1, {0}, 1000, 0))})));
  for (const std::uint32_t map : {2u, 0u, 1u}) {
    TaskFinished event;
    event.attempt = d.running_attempt(1, 0, map);
    event.node = d.running.at(event.attempt);
    event.output.resize(1000);
    if (map == 0) event.output[7] = {30, 2};
    if (map == 0) event.output[999] = {0, 1};  // a record that takes no bytes
    if (map == 1) event.output.assign(1000, {10, 1});
    d.running.erase(event.attempt);
    ASSERT_TRUE(d.apply(std::move(event)));
  }
  const ShuffleLocations* sent = d.last<ShuffleLocations>();
  ASSERT_NE(sent, nullptr);
  const std::vector<shuffle::Written> expected{std::vector<std::uint32_t>{7, 999}, std::nullopt, std::vector<std::uint32_t>{}};
  EXPECT_EQ(*sent->written, expected) << "of map 1, that are too many to be named";
}

TEST(Core, NodesShareOneTableOfOutputsUntilOneOfThemIsMadeAgain) {
  Driver driver;
  driver.join(1, 2);
  driver.join(2, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 2, 4), result(reader(1, {0}, 4, 0))})));
  const AttemptId first = driver.running_attempt(1, 0, 0), second = driver.running_attempt(1, 0, 1);
  const NodeId kept = driver.running.at(first), lost = driver.running.at(second);
  ASSERT_NE(kept, lost);
  ASSERT_TRUE(driver.finish(first));
  ASSERT_TRUE(driver.finish(second));
  const auto sent = driver.all<ShuffleLocations>();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_NE(sent[0]->node, sent[1]->node);
  const OutputTable table = sent[0]->outputs;
  EXPECT_EQ(table, sent[1]->outputs) << "one table, however many nodes read";

  std::erase_if(driver.running, [&](const auto& attempt) { return attempt.second == lost; });
  driver.join(3, 2);
  ASSERT_TRUE(driver.lose(lost.value()));
  const AttemptId again = driver.running_attempt(1, 0, 1);
  const NodeId where = driver.running.at(again);
  ASSERT_TRUE(driver.finish(again));
  const OutputTable& newer = driver.last<ShuffleLocations>()->outputs;
  ASSERT_EQ(newer->size(), 2u);
  EXPECT_EQ(newer->at(0).node, kept);
  EXPECT_EQ(newer->at(1).node, where);
  EXPECT_EQ(newer->at(1).attempt, again.attempt);
  EXPECT_EQ(table->at(1).node, lost) << "what was sent before stays as it was";
}

TEST(Core, CompletesStagesWithoutTasks) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 0, 0))})));
  ASSERT_NE(d.last<ActionFinished>(), nullptr);
  ASSERT_EQ(d.last<ActionFinished>()->results.size(), 1u);
  EXPECT_TRUE(d.last<ActionFinished>()->results[0].empty());
  ASSERT_TRUE(d.extend(1, part(1, {source(1, 0, 2), result(reader(2, {1}, 2, 0))})));
  EXPECT_EQ(d.drain(), 2u);  // the reducers still run, over nothing
  EXPECT_TRUE(d.last<ShuffleLocations>()->outputs->empty());
  EXPECT_EQ(d.all<ActionFinished>().size(), 2u);
}

TEST(Core, RefusesLateAttemptsWithAReason) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  const AttemptId zombie = d.running_attempt(1, 0, 0);
  const NodeId its_node = d.running.at(zombie);
  ASSERT_TRUE(d.lose(its_node.value()));
  d.running.erase(zombie);
  const AttemptId current = d.running_attempt(1, 0, 0);
  auto late = d.finish(zombie, its_node);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message().find("fenced"), std::string::npos);
  EXPECT_FALSE(d.finish(current, its_node));  // right attempt, wrong node
  ASSERT_TRUE(d.finish(current));
  EXPECT_FALSE(d.finish(current, NodeId(2)));  // twice
  EXPECT_EQ(d.all<ActionFinished>().size(), 1u);
  EXPECT_EQ(d.core.job(JobId(1))->counters.at("tasks"), 1);
}

TEST(Core, RedoesTheMapOutputsOfALostWorkerAndThoseOnly) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 1), result(reader(1, {0}, 1, 0))})));
  while (d.launches(1) == 0) ASSERT_TRUE(d.finish(d.running.begin()->first));
  const AttemptId reduce = d.running_attempt(1, 1, 0);
  const NodeId other = d.running.at(reduce) == NodeId(1) ? NodeId(2) : NodeId(1);
  const std::size_t before = d.launches(0);
  ASSERT_TRUE(d.lose(other.value()));
  ASSERT_TRUE(d.fail_fetch(reduce, 0, 0, 0, other));
  d.drain();
  EXPECT_EQ(d.launches(0) - before, 2u);
  EXPECT_EQ(d.all<ActionFinished>().size(), 1u);
  EXPECT_EQ(d.all<ShuffleLocations>().size(), 2u);           // the table changed
  EXPECT_EQ(d.core.job(JobId(1))->counters.at("tasks"), 5);  // recomputed maps count once
}

TEST(Core, RecomputesLineageRecursivelyThroughReleasedShuffles) {
  Driver d;
  d.join(1, 4);
  d.join(2, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 2), reader(1, {0}, 2, 2), result(reader(2, {1}, 2, 0))}, {0})));
  d.drain();
  EXPECT_EQ(d.all<ReleaseShuffle>().size(), 2u);  // shuffle 0, on both nodes
  EXPECT_EQ(d.launches(0), 2u);
  ASSERT_TRUE(d.lose(1));
  ASSERT_TRUE(d.lose(2));
  d.join(3, 4);
  EXPECT_TRUE(d.running.empty());  // nobody waits for shuffle 1
  ASSERT_TRUE(d.extend(1, part(1, {result(reader(3, {1}, 2, 0))})));
  d.drain();
  EXPECT_EQ(d.launches(0), 4u);
  EXPECT_EQ(d.launches(1), 4u);
  EXPECT_EQ(d.launches(2), 2u);  // its result is with the driver
  EXPECT_EQ(d.all<ActionFinished>().size(), 2u);
  EXPECT_EQ(d.last<ReleaseShuffle>()->node, NodeId(3));  // given up again
}

TEST(Core, WhatAMapWritesAfterItsShuffleWasGivenUpIsReleasedToo) {
  Driver d;
  for (std::uint32_t node : {1u, 2u, 3u}) d.join(node, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 3, 2), result(reader(1, {0}, 2, 0))}, {0})));
  while (d.launches(1) < 2) ASSERT_TRUE(d.finish(AttemptId(d.running.begin()->first)));
  std::uint32_t idle = 1;
  while (!d.core.view().node(NodeId(idle))->running.empty()) ++idle;
  ASSERT_TRUE(d.lose(idle));
  d.join(4, 1);
  ASSERT_EQ(d.running.size(), 3u) << "a map runs again, though both readers have what they need";
  for (std::uint32_t task : {0u, 1u}) ASSERT_TRUE(d.finish(d.running_attempt(1, 1, task)));
  ASSERT_NE(d.last<ActionFinished>(), nullptr);
  const std::size_t released = d.all<ReleaseShuffle>().size();
  ASSERT_EQ(d.drain(), 1u);
  EXPECT_EQ(d.all<ReleaseShuffle>().size(), released + 1);
  EXPECT_EQ(d.last<ReleaseShuffle>()->node, NodeId(4));
  EXPECT_EQ(d.core.view().stage(JobId(1), StageId(0))->output.finished_maps(), 0u);
  ASSERT_TRUE(d.extend(1, part(1, {result(reader(2, {0}, 2, 0))})));  // wanted after all
  EXPECT_EQ(d.drain(), 5u);
  EXPECT_EQ(d.all<ActionFinished>().size(), 2u);
}

TEST(Core, ANodeWhoseOutputsNobodyCanReadIsToldToReleaseThem) {
  Driver d;
  for (std::uint32_t node : {1u, 2u}) {
    WorkerJoined event;
    event.node = NodeId(node);
    event.host = fmt::format("host-{}", node);
    event.capacity.cpu = 6;
    event.capacity.memory = node == 1 ? 10 : 1;
    ASSERT_TRUE(d.apply(std::move(event)));
  }
  d.submit(1);
  plan::Stage large = result(reader(1, {0}, 1, 0));
  large.demand.memory = 5;  // for node 1
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 12, 1), std::move(large)}, {0})));
  while (d.launches(1) == 0) ASSERT_TRUE(d.finish(AttemptId(d.running.begin()->first)));
  for (int failure = 0; failure < 4; ++failure) {
    const schedulers::StageInfo& maps = *d.core.view().stage(JobId(1), StageId(0));
    std::uint32_t map = 0;
    while (maps.tasks[map].node != NodeId(2)) ++map;
    ASSERT_TRUE(d.fail_fetch(d.running_attempt(1, 1, 0), 0, map, maps.tasks[map].attempt(), NodeId(2)));
    while (!d.is_running(1, 1, 0)) ASSERT_TRUE(d.finish(AttemptId(d.running.begin()->first)));
  }
  EXPECT_FALSE(d.core.view().node(NodeId(2))->usable());
  d.drain();
  std::set<NodeId> released;
  for (const auto* release : d.all<ReleaseShuffle>()) released.insert(release->node);
  EXPECT_EQ(released, (std::set{NodeId(1), NodeId(2)}));
}

TEST(Core, AFetchFailureRedoesTheMapWithoutCountingAgainstTheReader) {
  Driver d;
  d.join(1, 1);
  d.submit(1, 1);  // one attempt only
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 1), result(reader(1, {0}, 1, 0))})));
  while (d.launches(1) == 0) ASSERT_TRUE(d.finish(d.running.begin()->first));
  ASSERT_TRUE(d.fail_fetch(d.running_attempt(1, 1, 0), 0, 1, 0, NodeId(1)));
  EXPECT_EQ(d.running_attempt(1, 0, 1).attempt, 1u);
  EXPECT_FALSE(d.is_running(1, 1, 0));
  d.drain();
  EXPECT_EQ(d.all<ActionFinished>().size(), 1u);
}

TEST(Core, RedoesUnreadableMapsElsewhereAndExcludesTheirNode) {
  Driver d;
  d.join(1, 8);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 6, 1), result(reader(1, {0}, 1, 0))})));
  d.join(2, 1);
  for (std::uint32_t map = 0; map < 6; ++map) ASSERT_TRUE(d.finish(d.running_attempt(1, 0, map)));
  for (std::uint32_t map = 0; map < 4; ++map) {
    ASSERT_TRUE(d.fail_fetch(d.running_attempt(1, 1, 0), 0, map, 0, NodeId(1)));
    if (map == 3) break;
    const AttemptId again = d.running_attempt(1, 0, map);
    EXPECT_EQ(d.running.at(again), NodeId(2));
    ASSERT_TRUE(d.finish(again));
  }
  EXPECT_FALSE(d.core.view().node(NodeId(1))->usable());
  d.drain();  // maps 3, 4 and 5 on node 2
  EXPECT_EQ(d.launches(0), 12u);
  EXPECT_EQ(d.all<ActionFinished>().size(), 1u);
}

TEST(Core, GivesUpAReaderThatNeverGetsItsInput) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 1, 1), result(reader(1, {0}, 1, 0))})));
  int failures = 0;
  while (d.all<JobFailed>().empty()) {
    ASSERT_LT(failures, 100);
    if (d.is_running(1, 1, 0)) {
      const auto map_attempt = static_cast<std::uint32_t>(d.launches(0)) - 1;
      ASSERT_TRUE(d.fail_fetch(d.running_attempt(1, 1, 0), 0, 0, map_attempt, NodeId(1)));
      ++failures;
    } else {
      ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
    }
  }
  EXPECT_EQ(failures, 20);
}

TEST(Core, KillingAJobKillsItsTasksAndFreesTheirSlots) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  d.submit(2);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 2, 0))})));
  ASSERT_TRUE(d.extend(2, part(0, {result(source(0, 1, 0))})));
  const AttemptId victim = d.running_attempt(1, 0, 0);
  ASSERT_TRUE(d.apply(JobKilled{JobId(1), "killed by alice"}));
  EXPECT_EQ(d.last<KillTask>()->attempt, victim);
  EXPECT_EQ(d.last<JobFailed>()->error.code(), Code::cancelled);
  EXPECT_TRUE(d.is_running(2, 0, 0));
  EXPECT_EQ(d.core.job(JobId(1))->error, "killed by alice");
  TaskFailed confirmation;
  confirmation.attempt = victim;
  confirmation.node = NodeId(1);
  confirmation.kind = FailureKind::killed;
  EXPECT_TRUE(d.apply(std::move(confirmation)));  // as asked: no error, no effect
}

TEST(Core, AJobWhoseDriverIsGoneForGoodFailsForItsReason) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  ASSERT_TRUE(d.apply(DriverFailed{JobId(1), "its driver failed (exit code 3): no such file"}));
  EXPECT_NE(d.last<KillTask>(), nullptr);
  EXPECT_EQ(d.core.job(JobId(1))->state, JobState::failed);
  EXPECT_EQ(d.core.job(JobId(1))->error, "its driver failed (exit code 3): no such file");
  EXPECT_FALSE(d.apply(DriverFailed{JobId(1), "again"})) << "it is over";
  EXPECT_FALSE(d.apply(DriverFailed{JobId(2), "why"})) << "there is none";
}

TEST(Core, TakesASilentWorkerForLost) {
  CoreOptions options;
  options.heartbeat_timeout = std::chrono::seconds(10);
  Driver d(options);
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  const auto* timer = d.last<SetTimer>();
  ASSERT_NE(timer, nullptr);
  EXPECT_EQ(timer->at, std::chrono::seconds(10));
  d.now = std::chrono::seconds(6);
  ASSERT_TRUE(d.apply(WorkerHeartbeat{NodeId(1)}));
  d.now = std::chrono::seconds(10);
  ASSERT_TRUE(d.apply(TimerFired{timer->timer}));
  EXPECT_NE(d.core.view().node(NodeId(1)), nullptr);
  const auto again = *d.last<SetTimer>();
  EXPECT_EQ(again.at, std::chrono::seconds(16));
  EXPECT_FALSE(d.apply(TimerFired{12345}));
  d.now = std::chrono::seconds(16);
  ASSERT_TRUE(d.apply(TimerFired{again.timer}));
  EXPECT_EQ(d.core.view().node(NodeId(1)), nullptr);
  EXPECT_FALSE(d.apply(WorkerHeartbeat{NodeId(1)}));
  d.running.clear();
  d.join(2, 1);
  d.drain();
  EXPECT_EQ(d.all<ActionFinished>().size(), 1u);
}

TEST(Core, RacksKnowWhatTheirUplinksCarry) {
  Driver d;
  const auto join = [&](std::uint32_t id, schedulers::UplinkRate uplink) {
    WorkerJoined node;
    node.node = NodeId(id);
    node.host = node.name = fmt::format("h{}", id);
    node.rack = "east";
    node.capacity.cpu = 1;
    node.rack_uplink = uplink;
    return d.apply(std::move(node));
  };
  const auto report = [&](std::uint32_t id, schedulers::UplinkRate rate) {
    ASSERT_TRUE(d.apply(WorkerHeartbeat{.node = NodeId(id), .cross_rack = rate}));
  };
  const auto rack = [&] { return *d.core.view().rack(d.core.view().nodes().begin()->second.rack); };
  EXPECT_FALSE(join(1, {-1, 0}));
  ASSERT_TRUE(join(1, {}));
  ASSERT_TRUE(join(2, {}));
  EXPECT_DOUBLE_EQ(rack().uplink_utilisation(), 0);
  report(1, {10, 40});
  report(2, {30, 0});
  EXPECT_EQ(rack().cross_rack, (schedulers::UplinkRate{40, 40}));
  EXPECT_DOUBLE_EQ(rack().uplink_utilisation(), 1) << "no more was ever seen";
  report(1, {10, 10});
  report(2, {10, 0});
  EXPECT_DOUBLE_EQ(rack().uplink_utilisation(), 0.5) << "up is the busier direction";
  ASSERT_TRUE(join(3, {200, 20}));
  EXPECT_DOUBLE_EQ(rack().uplink_utilisation(), 0.5) << "10 of 20 down, 20 of 200 up";
  report(1, {-5, 1});
  EXPECT_EQ(rack().cross_rack, (schedulers::UplinkRate{20, 10})) << "rates that cannot be are ignored";
  ASSERT_TRUE(d.apply(WorkerLost{NodeId(1), ""}));
  EXPECT_EQ(rack().cross_rack, (schedulers::UplinkRate{10, 0}));
}

TEST(Core, AHeartbeatSaysWhatIsUsed) {
  Driver d;
  d.join(1, 1);
  ASSERT_TRUE(d.apply(WorkerHeartbeat{.node = NodeId(1), .used = {.cpu = 0.5}, .machine = {.cpu = 1.5}}));
  const schedulers::NodeInfo& node = *d.core.view().node(NodeId(1));
  EXPECT_EQ(node.measured.cpu, 0.5);
  EXPECT_EQ(node.machine_measured.cpu, 1.5);
}

TEST(Core, AnEarlyTimerIsAskedForAgain) {
  Driver d;
  d.join(1, 1);
  const auto timer = *d.last<SetTimer>();
  ASSERT_TRUE(d.apply(TimerFired{timer.timer}));
  EXPECT_EQ(d.last<SetTimer>()->timer, timer.timer);
  EXPECT_EQ(d.last<SetTimer>()->at, timer.at);
}

TEST(Core, BoundsTheResultsOfAnAction) {
  CoreOptions options;
  options.max_result_bytes = 5;
  Driver d(options);
  d.join(1, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 3, 0))})));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 1)));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 2)));
  ASSERT_NE(d.last<JobFailed>(), nullptr);
  EXPECT_EQ(d.last<JobFailed>()->error.code(), Code::resource_exhausted);
  EXPECT_NE(d.last<JobFailed>()->error.message().find("source0"), std::string::npos);
}

TEST(Core, RunsIterationsOverSeveralPartsAndReleasesOldOnes) {
  Driver d;
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 2), result(reader(1, {0}, 2, 0))})));
  d.drain();
  std::uint32_t previous = 0;
  for (std::uint32_t round = 1; round <= 20; ++round) {
    const std::uint32_t next = round * 2;
    ASSERT_TRUE(d.extend(1, part(round, {reader(next, {previous}, 2, 2), result(reader(next + 1, {next}, 2, 0))}, {previous})));
    EXPECT_EQ(d.drain(), 4u);
    EXPECT_EQ(d.all<ReleaseShuffle>().size(), round);
    previous = next;
  }
  EXPECT_EQ(d.all<ActionFinished>().size(), 21u);
}

TEST(Core, RefusesNonsenseWithoutChangingAnything) {
  Driver d;
  EXPECT_FALSE(d.extend(9, part(0, {})));
  EXPECT_FALSE(d.apply(JobClosed{JobId(9)}));
  EXPECT_FALSE(d.apply(WorkerLost{NodeId(9), ""}));
  EXPECT_FALSE(d.apply(TaskFinished{}));
  EXPECT_FALSE(d.apply(TaskFailed{}));
  WorkerJoined slotless;
  slotless.node = NodeId(1);
  EXPECT_FALSE(d.apply(std::move(slotless)));
  d.submit(1);
  JobSubmitted twice;
  twice.job = JobId(1);
  EXPECT_FALSE(d.apply(std::move(twice)));
  EXPECT_FALSE(d.extend(1, part(0, {result(reader(1, {0}, 2, 0))})));  // unknown input
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 1, 0))})));
  EXPECT_FALSE(d.extend(1, part(0, {result(source(1, 1, 0))})));  // same action again
  EXPECT_TRUE(d.commands.empty());
  EXPECT_EQ(d.core.job(JobId(1))->stages.size(), 1u);
}

TEST(Core, ExplainsWhyAStageDoesNotRun) {
  Driver d;
  d.join(1, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 1), result(reader(1, {0}, 1, 0))})));
  const auto status = d.core.job(JobId(1)).value();
  EXPECT_TRUE(status.stages[1].waiting);
  EXPECT_EQ(status.stages[1].reason, "its inputs are not complete");
  ASSERT_TRUE(d.apply(WorkerHeartbeat{NodeId(1)}));
}

}  // namespace
}  // namespace weft::master

// Replicas of map outputs: where they are made, and that a lost output with a copy is not made again.
#include <algorithm>
#include <set>

#include "engine/master/log/event_log.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

OutputReplica of(const ReplicateOutput& command) {
  return {command.node, command.job, command.shuffle, command.output.map, command.output.attempt};
}

/// Three nodes of four slots, and a job with two copies of its outputs: `maps` maps, then reduces.
class Copies : public ::testing::Test {
 protected:
  explicit Copies(CoreOptions options = {}) : d(options) {}

  void begin(std::uint32_t maps, std::uint32_t reduces = 2, std::uint32_t nodes = 3) {
    for (std::uint32_t node = 1; node <= nodes; ++node) d.join(node, 4);
    d.submit(1, 4, 2);
    ASSERT_TRUE(d.extend(1, part(0, {source(0, maps, reduces), result(reader(1, {0}, reduces, 0))})));
  }
  /// Ends the map, and returns what was told of its copy.
  ReplicateOutput finish_map(std::uint32_t map) {
    const std::size_t before = d.all<ReplicateOutput>().size();
    EXPECT_TRUE(d.finish(d.running_attempt(1, 0, map)));
    const auto commands = d.all<ReplicateOutput>();
    EXPECT_EQ(commands.size(), before + 1);
    return commands.empty() ? ReplicateOutput{} : *commands.back();
  }
  void copied(const ReplicateOutput& command) { ASSERT_TRUE(d.apply(OutputReplicated{of(command)})); }
  ReplicateOutput map_with_copy(std::uint32_t map) {
    const ReplicateOutput command = finish_map(map);
    copied(command);
    return command;
  }
  void lose(NodeId node) {
    std::erase_if(d.running, [&](const auto& entry) { return entry.second == node; });
    ASSERT_TRUE(d.lose(node.value()));
  }
  std::vector<ReplicateOutput> copy_commands() const {
    std::vector<ReplicateOutput> found;
    for (const ReplicateOutput* command : d.all<ReplicateOutput>()) found.push_back(*command);
    return found;
  }
  StageStatus maps() const { return d.core.job(JobId(1))->stages[0]; }

  Driver d;
};

TEST_F(Copies, AreMadeOnAnotherNodeTheOneWithTheFewest) {
  begin(6);
  std::map<NodeId, int> copies;
  for (std::uint32_t map = 0; map < 6; ++map) {
    const ReplicateOutput command = finish_map(map);
    EXPECT_NE(command.node, command.output.node);
    EXPECT_EQ(command.output.map, map);
    ++copies[command.node];
  }
  for (const auto& [node, count] : copies) EXPECT_EQ(count, 2) << node.value();
  EXPECT_EQ(copies.size(), 3u);
}

TEST_F(Copies, AreMadeInAnotherRackIfThereIsOne) {
  d.join(1, 4, "", "near");
  d.join(2, 4, "", "near");
  d.join(3, 1, "", "far");
  d.submit(1, 4, 2);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 9, 1), result(reader(1, {0}, 1, 0))})));
  for (std::uint32_t map = 0; map < 9; ++map) {
    const ReplicateOutput command = finish_map(map);
    EXPECT_EQ(command.node == NodeId(3), command.output.node != NodeId(3)) << map;
  }
}

TEST_F(Copies, AreNotMadeForJobsThatWantOne) {
  d.join(1, 4);
  d.join(2, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 2), result(reader(1, {0}, 2, 0))})));
  d.drain();
  EXPECT_TRUE(d.all<ReplicateOutput>().empty());
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
  JobSubmitted event;
  event.job = JobId(9);
  for (std::uint32_t replicas : {0u, 3u}) {
    event.options.shuffle_replicas = replicas;
    EXPECT_EQ(d.apply(event).error().code(), Code::invalid_argument);
  }
}

TEST_F(Copies, OfALostOutputIsUsedAndTheMapDoesNotRunAgain) {
  begin(2);
  const ReplicateOutput first = map_with_copy(0);
  const ReplicateOutput second = map_with_copy(1);
  ASSERT_EQ(d.launches(1), 2u);
  lose(first.output.node);
  EXPECT_EQ(d.launches(0), 2u) << "no map runs again";
  ASSERT_GE(d.all<OutputMoved>().size(), 1u);
  const OutputMoved& moved = *d.all<OutputMoved>().front();
  EXPECT_EQ(moved.output.map, 0u);
  EXPECT_EQ(moved.output.attempt, first.output.attempt);
  EXPECT_EQ(moved.output.node, first.node);
  EXPECT_EQ(moved.from, first.output.node);
  EXPECT_NE(moved.reason.find("worker-" + std::to_string(first.output.node.value()) + " was lost"), std::string::npos)
      << moved.reason;
  const OutputTable& table = d.last<ShuffleLocations>()->outputs;
  ASSERT_EQ(table->size(), 2u);
  EXPECT_EQ(table->at(0).node, first.node);
  EXPECT_EQ(d.core.view().stage(JobId(1), StageId(0))->output.node_bytes(first.output.node), 0u);
  EXPECT_EQ(maps().replicas_used, d.all<OutputMoved>().size());
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
  EXPECT_EQ(d.launches(0), 2u);
  (void)second;
}

/// Readers are placed when a map has ended.
class CopiesOfWhatIsBrought : public Copies {
 protected:
  CopiesOfWhatIsBrought() : Copies(options()) {}
  static CoreOptions options() {
    CoreOptions options;
    options.preplace_at = 0.1;
    options.merge_bytes = 0;
    return options;
  }
};

TEST_F(CopiesOfWhatIsBrought, NodesThatBringItAreToldOfTheNewPlace) {
  begin(4, 8);
  const ReplicateOutput first = map_with_copy(0);
  finish_map(1);
  const auto told = [&](NodeId node, NodeId at) {
    const auto all = d.all<PrefetchShuffle>();
    return std::count_if(all.begin(), all.end(), [&](const PrefetchShuffle* command) {
      return command->node == node && std::any_of(command->outputs.begin(), command->outputs.end(),
                                                  [&](const auto& output) { return output.map == 0 && output.node == at; });
    });
  };
  NodeId reader{};
  for (const PrefetchShuffle* command : d.all<PrefetchShuffle>())
    if (command->node != first.output.node) reader = command->node;
  ASSERT_EQ(told(reader, first.output.node), 1);
  lose(first.output.node);
  EXPECT_EQ(told(reader, first.node), 1);
}

TEST_F(Copies, ReadersThatRunAreToldOfTheNewPlace) {
  begin(1, 3);
  const ReplicateOutput copy = map_with_copy(0);
  std::set<NodeId> readers;
  for (const auto& [attempt, node] : d.running) readers.insert(node);
  readers.erase(copy.output.node);
  const std::size_t before = d.all<ShuffleLocations>().size();
  lose(copy.output.node);
  std::set<NodeId> told;
  const auto tables = d.all<ShuffleLocations>();
  for (std::size_t i = before; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i]->outputs->at(0).node, copy.node);
    told.insert(tables[i]->node);
  }
  EXPECT_TRUE(std::includes(told.begin(), told.end(), readers.begin(), readers.end()));
}

TEST_F(Copies, AnotherOneIsMadeOfAnOutputThatMoved) {
  begin(1);
  const ReplicateOutput first = map_with_copy(0);
  lose(first.output.node);
  ASSERT_EQ(copy_commands().size(), 2u);
  const ReplicateOutput next = copy_commands().back();
  EXPECT_EQ(next.output.node, first.node);
  EXPECT_NE(next.node, first.node);
  EXPECT_NE(next.node, first.output.node);
  copied(next);
  EXPECT_EQ(maps().replicas, 1u);
  lose(next.output.node);  // there is one node left, which has it
  EXPECT_EQ(d.last<OutputMoved>()->output.node, next.node);
  EXPECT_EQ(d.launches(0), 1u);
  d.join(9, 4);
  EXPECT_EQ(copy_commands().back().node, NodeId(9)) << "a node that joins takes the copies that found none";
}

TEST_F(Copies, OutputLostTogetherWithItsCopyIsMadeAgain) {
  begin(1);
  const ReplicateOutput copy = map_with_copy(0);
  lose(copy.node);
  const ReplicateOutput next = copy_commands().back();
  EXPECT_EQ(next.output.node, copy.output.node);
  EXPECT_NE(next.node, copy.node);
  lose(copy.output.node);  // before the next one was there
  EXPECT_EQ(d.launches(0), 2u);
  EXPECT_TRUE(d.all<OutputMoved>().empty());
  EXPECT_EQ(d.apply(OutputReplicated{of(next)}).error().code(), Code::cancelled) << "a copy that comes too late";
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST_F(Copies, OneThatIsLostIsMadeElsewhere) {
  begin(4);
  std::vector<ReplicateOutput> copies;
  for (std::uint32_t map = 0; map < 4; ++map) copies.push_back(map_with_copy(map));
  const NodeId gone = copies[0].node;
  const auto lost = std::count_if(copies.begin(), copies.end(), [&](const ReplicateOutput& copy) { return copy.node == gone; });
  lose(gone);
  const auto all = copy_commands();
  ASSERT_GE(all.size(), 4u + static_cast<std::size_t>(lost));
  for (std::size_t i = 4; i < all.size(); ++i) {
    EXPECT_NE(all[i].node, gone);
    EXPECT_NE(all[i].output.node, gone);
    EXPECT_NE(all[i].node, all[i].output.node);
  }
  EXPECT_EQ(d.launches(0), 4u);
}

TEST_F(Copies, OfAnOutputThatAReaderCannotHaveIsUsed) {
  begin(1);
  const ReplicateOutput copy = map_with_copy(0);
  const AttemptId reader = d.running_attempt(1, 1, 0);
  ASSERT_TRUE(d.fail_fetch(reader, 0, 0, copy.output.attempt, copy.output.node));
  EXPECT_EQ(d.launches(0), 1u);
  ASSERT_EQ(d.all<OutputMoved>().size(), 1u);
  EXPECT_NE(d.last<OutputMoved>()->reason.find("could not be read"), std::string::npos) << d.last<OutputMoved>()->reason;
  EXPECT_TRUE(d.is_running(1, 1, 0)) << "retried";
  EXPECT_EQ(d.last<ShuffleLocations>()->outputs->at(0).node, copy.node);
  const ReplicateOutput next = copy_commands().back();
  EXPECT_EQ(next.output.node, copy.node);
  EXPECT_NE(next.node, copy.output.node) << "what is there cannot be read, and nothing else can be put under its name";
  // Another reader comes with the same news: known already.
  const AttemptId other = d.running_attempt(1, 1, 1);
  ASSERT_TRUE(d.fail_fetch(other, 0, 0, copy.output.attempt, copy.output.node));
  EXPECT_EQ(d.all<OutputMoved>().size(), 1u);
  EXPECT_EQ(d.launches(0), 1u);
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST_F(Copies, AreTriedOnAnotherNodeAndThenLeft) {
  begin(1);
  const ReplicateOutput first = finish_map(0);
  ASSERT_TRUE(d.apply(ReplicaFailed{of(first), "disk full"}));
  ASSERT_EQ(copy_commands().size(), 2u);
  const ReplicateOutput second = copy_commands().back();
  EXPECT_NE(second.node, first.node);
  EXPECT_NE(second.node, second.output.node);
  EXPECT_EQ(d.apply(ReplicaFailed{of(first), "again"}).error().code(), Code::cancelled);
  ASSERT_TRUE(d.apply(ReplicaFailed{of(second), "disk full"}));
  EXPECT_EQ(copy_commands().size(), 2u);
  EXPECT_EQ(maps().replicas_abandoned, 1u);
  EXPECT_EQ(maps().replicas, 0u);
  d.join(4, 4);
  EXPECT_EQ(copy_commands().size(), 2u) << "left is left";
  lose(first.output.node);
  EXPECT_EQ(d.launches(0), 2u);
}

TEST_F(Copies, WaitForASecondNode) {
  begin(2, 2, 1);
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
  EXPECT_TRUE(copy_commands().empty());
  d.join(2, 4);
  ASSERT_EQ(copy_commands().size(), 1u);
  EXPECT_EQ(copy_commands()[0].node, NodeId(2));
}

TEST_F(Copies, AreReleasedWithTheirShuffleAndTheirJob) {
  begin(1, 1);
  const ReplicateOutput copy = map_with_copy(0);
  d.drain();
  ASSERT_TRUE(d.extend(1, part(1, {result(source(2, 1, 0))}, {0})));
  std::set<NodeId> released;
  for (const ReleaseShuffle* release : d.all<ReleaseShuffle>()) released.insert(release->node);
  EXPECT_TRUE(released.contains(copy.node));
  EXPECT_TRUE(released.contains(copy.output.node));
  EXPECT_EQ(maps().replicas, 0u);
  lose(copy.node);
  EXPECT_EQ(copy_commands().size(), 1u) << "nobody reads it any more";
  d.drain();
  ASSERT_TRUE(d.apply(JobClosed{JobId(1)}));

  d.submit(2, 4, 2);
  ASSERT_TRUE(d.extend(2, part(0, {source(0, 1, 1), result(reader(1, {0}, 1, 0))})));
  ASSERT_TRUE(d.finish(d.running_attempt(2, 0, 0)));
  const ReplicateOutput second = copy_commands().back();
  ASSERT_TRUE(d.apply(JobKilled{JobId(2), "enough"}));
  const auto jobs = d.all<ReleaseJob>();
  EXPECT_TRUE(std::any_of(jobs.begin(), jobs.end(),
                          [&](const ReleaseJob* release) { return release->job == JobId(2) && release->node == second.node; }));
  EXPECT_EQ(d.apply(OutputReplicated{of(second)}).error().code(), Code::cancelled);
}

TEST_F(Copies, NewsOfThemThatCannotBeTrueAreRefused) {
  begin(2);
  const ReplicateOutput copy = finish_map(0);
  for (int change = 0; change < 5; ++change) {
    OutputReplica wrong = of(copy);
    if (change == 0) wrong.node = copy.output.node;
    if (change == 1) wrong.map = 1;
    if (change == 2) wrong.attempt = 1;
    if (change == 3) wrong.shuffle = ShuffleId(7);
    if (change == 4) wrong.node = NodeId(77);
    EXPECT_FALSE(d.apply(OutputReplicated{wrong})) << change;
    EXPECT_FALSE(d.apply(ReplicaFailed{wrong, ""})) << change;
  }
  copied(copy);
  EXPECT_FALSE(d.apply(OutputReplicated{of(copy)})) << "twice";
}

TEST_F(Copies, TheHistorySaysWhereAnOutputWentAndWhy) {
  begin(1);
  const ReplicateOutput copy = map_with_copy(0);
  EXPECT_EQ(command_json(Time(3), Command(copy)),
            fmt::format(R"({{"time_ns":3,"event":"copy_started","job":1,"shuffle":0,"map":0,"map_attempt":0,"from":{},"node":{}}})",
                        copy.output.node.value(), copy.node.value()));
  EXPECT_EQ(event_json(Time(3), OutputReplicated{of(copy)}),
            fmt::format(R"({{"time_ns":3,"event":"output_copied","job":1,"shuffle":0,"map":0,"map_attempt":0,"node":{}}})",
                        copy.node.value()));
  lose(copy.output.node);
  EXPECT_EQ(command_json(Time(3), Command(*d.last<OutputMoved>())),
            fmt::format(R"({{"time_ns":3,"event":"output_moved","job":1,"shuffle":0,"map":0,"map_attempt":0,"from":{},"node":{},)"
                        R"("reason":"worker worker-{} was lost: test"}})",
                        copy.output.node.value(), copy.node.value(), copy.output.node.value()));
}

TEST_F(Copies, AReaderThatComesTooLateIsToldTheCause) {
  begin(1, 8, 2);
  const ReplicateOutput copy = map_with_copy(0);
  AttemptId reader{};
  for (const auto& [attempt, node] : d.running)
    if (node == copy.node) reader = attempt;
  d.now += std::chrono::seconds(1);
  lose(copy.output.node);
  d.now += std::chrono::seconds(2);
  ASSERT_TRUE(d.apply(WorkerHeartbeat{copy.node}));
  d.join(5, 1);
  ASSERT_TRUE(d.fail_fetch(reader, 0, 0, 0, copy.output.node));
  const std::string expected =
      fmt::format("map 0's output was on worker worker-{}, which was lost 2.0 s ago (test); its copy on worker-{} is used",
                  copy.output.node.value(), copy.node.value());
  const auto& held = d.core.view().stage(JobId(1), StageId(1))->held;
  ASSERT_TRUE(held);
  EXPECT_EQ(held->text, expected);
}

TEST(CopiesOfOne, AReaderOfALostOutputIsToldTheCauseToo) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 1, 1), result(reader(1, {0}, 1, 0))})));
  const NodeId where = d.running.at(d.running_attempt(1, 0, 0));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
  ASSERT_TRUE(d.fail_fetch(d.running_attempt(1, 1, 0), 0, 0, 0, where));
  EXPECT_EQ(d.core.view().stage(JobId(1), StageId(1))->held->text,
            fmt::format("map 0's output could not be read from worker worker-{} (block lost); the map runs again", where.value()));
}

TEST(CopiesOfSlowStart, ReadersThatWaitAreToldOfTheNewPlaceOneByOne) {
  CoreOptions options;
  options.slow_start = 0.5;
  Driver d(options);
  for (std::uint32_t node = 1; node <= 3; ++node) d.join(node, 2);
  d.submit(1, 4, 2);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 1), result(reader(1, {0}, 1, 0))})));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 1)));
  ASSERT_TRUE(d.is_running(1, 1, 0));
  const NodeId reader = d.running.at(d.running_attempt(1, 1, 0));
  const ReplicateOutput* copy = nullptr;
  for (const ReplicateOutput* command : d.all<ReplicateOutput>())
    if (command->output.node != reader) copy = command;
  ASSERT_NE(copy, nullptr);
  const ReplicateOutput made = *copy;
  ASSERT_TRUE(d.apply(OutputReplicated{of(made)}));
  std::erase_if(d.running, [&](const auto& entry) { return entry.second == made.output.node; });
  ASSERT_TRUE(d.lose(made.output.node.value()));
  const auto told = d.all<ShuffleExtended>();
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [&](const ShuffleExtended* extended) {
    return extended->node == reader && extended->output.map == made.output.map && extended->output.node == made.node;
  }));
}

}  // namespace
}  // namespace weft::master

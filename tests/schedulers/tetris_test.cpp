// Tetris, term by term of its score: align - epsilon * work, the penalty, the barrier and the fairness knob.
#include "schedulers/policies/tetris.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::tetris_rules {
namespace {

struct Packing {
  World world;
  explicit Packing(const std::string& options, double slots = 4, double memory = 0)
      : world(fmt::format("tetris(mode=paper, {})", options)) {
    world.node(1, "a", "r1", slots, memory);
  }
  void add(std::uint64_t id, std::size_t tasks, const Resources& demand, double seconds = 1) {
    world.stage(world.job(id), 0, anywhere(tasks), demand, seconds);
  }
  void add(std::uint64_t id, std::vector<std::vector<std::string>> hosts) { world.job(id, 0, Time(0), std::move(hosts)); }
  std::uint64_t first() {
    world.schedule();
    return world.launched.at(0).task.job.value();
  }
};

TEST(TetrisPenalty, InputInTheRackIsRemoteToo) {
  Packing packing("srtf=false", 1);
  packing.world.node(2, "b", "r1", 0.1);
  packing.add(1, {{"b"}});
  packing.add(2, {{"a"}});
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisPenalty, IsForTasksThatHaveInput) {
  Packing packing("srtf=false", 1);
  packing.add(1, {{}, {"elsewhere"}});  // its first task reads nothing
  packing.add(2, {{"a"}});
  EXPECT_EQ(packing.first(), 1u);
}

TEST(TetrisWork, IsWithoutFinishedTasks) {
  Packing packing("barrier=2", 1);
  packing.add(1, 10, {.cpu = 1});
  for (std::size_t i = 0; i < 9; ++i) {
    packing.world.schedule();
    packing.world.finish(packing.world.launched.at(i).task);
  }
  packing.add(2, 5, {.cpu = 1});
  packing.world.schedule();
  EXPECT_EQ(packing.world.launched.at(9).task.job, JobId(1)) << "one is left, against five";
}

TEST(TetrisWork, CountsDurations) {
  Packing packing("");
  packing.add(1, 1, {.cpu = 4}, 100);
  packing.add(2, 2, {.cpu = 4}, 1);
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisWork, IsOverAllResources) {
  // Equally aligned with the empty node. Work: 2 * (.5 + .1) against .5 + .1.
  Packing packing("", 4, 4);
  packing.add(1, 2, {.cpu = 2, .memory = 0.4});
  packing.add(2, 1, {.cpu = 0.4, .memory = 2});
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisScore, AlignmentAndWorkWeighTheSameOnTheWhole) {
  // align .75 and .25; work 15 and 10; epsilon 1/25: .75 - .6 against .25 - .4.
  Packing packing("");
  packing.add(1, 2, {.cpu = 3}, 10);
  packing.add(2, 4, {.cpu = 1}, 10);
  EXPECT_EQ(packing.first(), 1u);
}

TEST(TetrisScore, AlignsWithWhatIsFree) {
  // Of cpu a tenth is left, of memory everything: .1 * .1 against .01 * .1 + .05 * 1. Of the whole node they would ask .1 and .06.
  Packing packing("srtf=false", 10, 10);
  packing.add(1, 9, {.cpu = 1});
  packing.world.schedule();
  ASSERT_EQ(packing.world.launched.size(), 9u);
  packing.add(2, 1, {.cpu = 1});
  packing.add(3, 1, {.cpu = 0.1, .memory = 0.5});
  packing.world.schedule();
  EXPECT_EQ(packing.world.launched.at(9).task.job, JobId(3));
}

TEST(TetrisDigits, RoundScoresInUnitsWhateverTheCapacity) {
  // Alignment with the empty node is units * demand: 0.5 and 0.5 + 0.003 * units. Of 1 unit both are 0.50 and the first job goes
  // first; of 2 they are 1.00 and 1.01. Parts of the capacity would be rounded alike for both.
  for (const auto& [units, memory, first] : {std::tuple(1.0, 0.004, 1u), std::tuple(2.0, 0.005, 2u)}) {
    Packing packing("srtf=false, digits=2", units, units);
    packing.add(1, 1, {.cpu = 0.5});
    packing.add(2, 1, {.cpu = 0.5, .memory = memory});
    EXPECT_EQ(packing.first(), first) << units;
  }
}

TEST(TetrisDigits, WhatScoresNothingWaits) {
  Packing packing("srtf=false, digits=2", 10);
  packing.add(1, 1, {.cpu = 9.9});
  packing.add(2, 1, {.cpu = 0.04});  // .04 * .1 is 0.00
  packing.world.schedule();
  EXPECT_EQ(packing.world.order(), "1");
  packing.world.finish(packing.world.launched[0].task);
  packing.world.schedule();
  EXPECT_EQ(packing.world.order(), "12");
  EXPECT_FALSE(make_scheduler("tetris(mode=paper, digits=10)"));
}

/// Nodes of 100 MB/s, of which jobs want some. Node a holds the input.
struct Remote {
  static constexpr double kMega = 1e6;
  World world{"tetris(mode=paper, srtf=false, barrier=2)"};
  Remote() {
    for (std::uint32_t id : {1u, 2u, 3u})
      world.node(id, std::string(1, static_cast<char>('a' + id - 1)), "r",
                 Resources{.cpu = 4, .disk_read = 100 * kMega, .network_in = 100 * kMega, .network_out = 100 * kMega});
  }
  /// A job whose tasks read from `host`.
  void reader(std::uint64_t id, std::size_t tasks, double rate, const std::string& host = "a", double disk = 0) {
    world.job(id, 0, Time(0), std::vector<std::vector<std::string>>(tasks, {host}),
              {.cpu = 1, .disk_read = disk * kMega, .network_in = rate * kMega});
  }
  std::string nodes() const {
    std::string text;
    for (const auto& launch : world.launched) text += fmt::format("{}", launch.node.value());
    return text;
  }
};

TEST(TetrisSources, ATaskNeedsRoomInTheNetworkOfTheMachineItReadsFrom) {
  Remote remote;
  remote.reader(1, 9, 40);
  remote.world.beat(2);
  EXPECT_EQ(remote.nodes(), "22") << "40 and 40 of 100 come in";
  remote.world.beat(3);
  EXPECT_EQ(remote.nodes(), "22") << "what goes to b counts for c too";
  remote.world.beat(1);
  EXPECT_EQ(remote.nodes(), "2211") << "where the input is nothing goes out";
  remote.world.finish(remote.world.launched[0].task);
  remote.world.beat(1);
  EXPECT_EQ(remote.nodes().substr(0, 5), "22112") << "what ended gave its part back, for any node that was refused";
}

TEST(TetrisSources, TheirDisksCountToo) {
  Remote remote;
  remote.reader(1, 9, 10, "a", 60);
  remote.world.beat(2);
  remote.world.beat(3);
  EXPECT_EQ(remote.nodes(), "2") << "60 of 100 are read on a";
  remote.world.beat(1);
  EXPECT_EQ(remote.nodes(), "2") << "a itself has no room for 60 more";
}

TEST(TetrisSources, WhatOthersReadLeavesLessForTasksOfTheMachine) {
  Remote remote;
  remote.reader(1, 9, 10, "a", 60);
  remote.world.beat(2);
  ASSERT_EQ(remote.nodes(), "2");
  remote.world.beat(1);
  EXPECT_EQ(remote.nodes(), "2");
}

TEST(TetrisSources, OneThatAsksForMoreThanThereIsMayHaveAll) {
  Remote remote;
  remote.world.node(4, "d", "r", Resources{.cpu = 4, .network_in = 1000 * Remote::kMega});
  remote.reader(1, 2, 500);
  remote.world.beat(4);
  EXPECT_EQ(remote.nodes(), "4");
}

TEST(TetrisSources, TheReplicaWithMostNetworkFreeGives) {
  Remote remote;
  remote.world.job(1, 0, Time(0), {{"a", "b"}, {"a", "b"}, {"a", "b"}}, {.cpu = 1, .network_in = 60 * Remote::kMega});
  remote.world.node(4, "d", "r", Resources{.cpu = 4, .network_in = 1000 * Remote::kMega});
  remote.world.beat(4);
  EXPECT_EQ(remote.nodes(), "44") << "one from a, one from b";
}

TEST(TetrisSources, ReplicasTakeTurns) {
  Remote remote;
  remote.world.node(4, "d", "r", Resources{.cpu = 4, .network_in = 1000 * Remote::kMega});
  remote.world.job(1, 0, Time(0), {{"a", "b"}, {"a", "b"}}, {.cpu = 1, .network_in = 40 * Remote::kMega});
  remote.world.beat(4);
  ASSERT_EQ(remote.nodes(), "44");
  remote.reader(2, 1, 60, "a");
  remote.world.beat(4);
  EXPECT_EQ(remote.nodes(), "444") << "40 go out of a, 40 out of b";
}

/// A stage of two maps and one of reduces that reads them; what the maps on these nodes wrote, in bytes.
StageInfo& reduces(Remote& remote, std::uint64_t id, std::vector<std::pair<std::uint32_t, std::uint64_t>> written,
                   std::size_t count, double rate) {
  World& world = remote.world;
  JobInfo& job = world.job(id);
  StageInfo& maps = world.stage(job, 0, anywhere(written.size()));
  maps.output = ShuffleSizes(static_cast<std::uint32_t>(written.size()), 1);
  for (std::uint32_t map = 0; map < written.size(); ++map) {
    maps.output.add(map, NodeId(written[map].first), {written[map].second});
    world.state.set_task(job, maps, map, TaskState::finished);
  }
  return world.stage(job, 1, anywhere(count), {.cpu = 1, .network_in = rate * Remote::kMega}, 0, {0});
}

TEST(TetrisSources, AReduceDrawsFromEachMachineInProportion) {
  Remote remote;
  reduces(remote, 1, {{1, 3 << 20}, {2, 1 << 20}}, 9, 60);  // 45 from a, 15 from b
  remote.world.beat(3);
  EXPECT_EQ(remote.nodes(), "3") << "its own network has no room for another";
  remote.world.beat(2);
  EXPECT_EQ(remote.nodes(), "32") << "45 more from a, nothing from itself";
  remote.world.beat(1);
  EXPECT_EQ(remote.nodes(), "321") << "15 more from b";
  remote.world.finish(remote.world.launched[1].task);
  remote.world.beat(2);
  EXPECT_EQ(remote.nodes(), "3212");
}

TEST(TetrisSources, GiveBackWhatTasksDrewThatEndedOtherwise) {
  for (const char* how : {"killed", "job", "node"}) {
    SCOPED_TRACE(how);
    Remote remote;
    remote.reader(1, 2, 60);
    remote.world.beat(2);
    ASSERT_EQ(remote.nodes(), "2");
    if (how == std::string("killed")) {
      ASSERT_TRUE(remote.world.preempt({remote.world.launched[0].task, 0}, ""));
    }
    if (how == std::string("job")) remote.world.end(1);
    if (how == std::string("node")) remote.world.leave(2);
    remote.reader(2, 1, 60);
    remote.world.beat(3);
    EXPECT_EQ(remote.nodes(), "23");
  }
}

TEST(TetrisPenalty, ReducesPayItWhereOthersHoldTheirInput) {
  // Two jobs of one reduce each, equally aligned; all of the second one's input is on node a.
  for (const auto& [node, first] : {std::pair(1u, 2u), std::pair(2u, 1u)}) {
    Remote remote;
    reduces(remote, 1, {{1, 1 << 20}, {2, 1 << 20}}, 1, 0);
    reduces(remote, 2, {{1, 1 << 20}, {1, 1 << 20}}, 1, 0);
    remote.world.beat(node);
    EXPECT_EQ(remote.world.launched.at(0).task.job, JobId(first)) << node;
  }
}

TEST(TetrisFairness, LooksAtSharesOverWeights) {
  Packing packing("srtf=false, fairness=0.5", 8);
  for (const auto& [id, weight] : {std::pair(1u, 3.0), std::pair(2u, 1.0)}) {
    JobInfo& job = packing.world.job(id);
    job.hints.weight = weight;
    packing.world.stage(job, 0, anywhere(20));
  }
  packing.world.schedule();
  EXPECT_EQ(packing.world.running(1), 6u);
  EXPECT_EQ(packing.world.running(2), 2u);
}

TEST(TetrisFairness, ConsidersTheFirstPartOfTheJobsRoundedUp) {
  Packing packing("srtf=false, fairness=0.5");
  for (std::uint64_t id : {1u, 2u, 3u}) packing.add(id, 1, {.cpu = static_cast<double>(id)});
  EXPECT_EQ(packing.first(), 2u) << "the better aligned of the first two";
}

TEST(TetrisBarrier, ATenthFromItsEndAStageGoesFirstWhateverTheScore) {
  for (const auto& [finished, next] : {std::pair(8u, 2u), std::pair(9u, 1u)}) {
    Packing packing("srtf=false", 1);
    packing.add(1, 10, {.cpu = 0.6});
    for (std::size_t i = 0; i < finished; ++i) {
      packing.world.schedule();
      packing.world.finish(packing.world.launched.at(i).task);
    }
    packing.add(2, 1, {.cpu = 1});  // better aligned
    packing.world.schedule();
    EXPECT_EQ(packing.world.launched.at(finished).task.job, JobId(next)) << finished << " of 10 are done";
  }
}

}  // namespace
}  // namespace weft::schedulers::tetris_rules

// CoGRS: what begins its wait again, what it goes by after it, and what makes it look again.
#include "schedulers/policies/cogrs.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::cogrs_rules {
namespace {

using Written = std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>>;  // nodes, and bytes for each partition

/// Nodes 1 and 2 in one rack, 3 and 4 in another, of that many slots; and a job whose maps have ended.
struct Gathering {
  World world;
  JobInfo* job = nullptr;
  StageInfo* maps = nullptr;
  StageInfo* reduces = nullptr;

  Gathering(const std::string& spec, double slots, const Written& written, std::size_t tasks = 0) : world(spec) {
    for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "rack1" : "rack2", slots);
    job = &world.job(1);
    maps = &world.stage(*job, 0, anywhere(written.size()), {});
    const std::size_t partitions = written.front().second.size();
    maps->output = ShuffleSizes(static_cast<std::uint32_t>(written.size()), static_cast<std::uint32_t>(partitions));
    for (std::uint32_t i = 0; i < written.size(); ++i) {
      EXPECT_TRUE(world.launch({job->id, StageId(0), i}, NodeId(written[i].first), "test"));
      maps->output.add(i, NodeId(written[i].first), written[i].second);
    }
    for (std::uint32_t i = 0; i < written.size(); ++i) world.finish({job->id, StageId(0), i});
    world.launched.clear();
    reduces = &world.stage(*job, 1, anywhere(tasks > 0 ? tasks : partitions), {.cpu = 1}, 0, {0});
  }
  TaskId reduce(std::uint32_t index) const { return {job->id, StageId(1), index}; }
  void beat_at(double seconds, std::uint32_t node) {
    world.at(seconds);
    world.beat(node);
  }
};

TEST(CogrsWait, BeginsAgainWhenAReduceWasPlacedWell) {
  Gathering g("cogrs(wait=2s)", 1, {{1, {100, 100}}});
  g.beat_at(0, 3);
  ASSERT_TRUE(g.world.launched.empty());
  g.beat_at(1.5, 1);
  ASSERT_EQ(g.world.launched.size(), 1u) << "at its centre";
  for (double now : {2.0, 3.9}) {
    g.beat_at(now, 3);
    EXPECT_EQ(g.world.launched.size(), 1u) << "the other one waits since two seconds";
  }
  g.beat_at(4, 3);
  EXPECT_EQ(g.world.launched.size(), 2u);
}

TEST(CogrsWait, IsThreeSecondsUnlessSomethingElseIsAskedFor) {
  Gathering g("cogrs", 1, {{1, {100}}});
  g.beat_at(0, 3);
  g.beat_at(2.9, 3);
  EXPECT_TRUE(g.world.launched.empty());
  g.beat_at(3, 3);
  EXPECT_EQ(g.world.launched.size(), 1u);
}

TEST(CogrsWait, AfterItDistancesAreRelativeToSizes) {
  // From node 3: 40 of 10, and 700 * 4 + 300 * 2 = 3400 of 1000.
  Gathering g("cogrs(wait=2s)", 1, {{1, {10, 700}}, {4, {0, 300}}});
  g.beat_at(0, 3);
  ASSERT_TRUE(g.world.launched.empty());
  g.beat_at(2, 3);
  ASSERT_EQ(g.world.launched.size(), 1u);
  EXPECT_EQ(g.world.launched[0].task.index, 1u);
}

TEST(CogrsWait, IsNotForTasksThatFailedOnAnotherNode) {
  Gathering g("cogrs", 1, {{1, {100}}});
  g.world.state.set_avoid(*g.reduces, 0, NodeId(1));
  g.beat_at(0, 1);
  EXPECT_TRUE(g.world.launched.empty());
  g.beat_at(0, 3);
  EXPECT_EQ(g.world.launched.size(), 1u);
}

TEST(CogrsCentre, IsThatOfAllPartitionsATaskReads) {
  Gathering g("cogrs", 1, {{1, {60, 0, 1}}, {4, {0, 50, 1}}}, 2);
  g.reduces->bounds = {0, 2, 3};  // the first reads the two partitions of 60 and 50
  g.beat_at(0, 4);
  for (const auto& launch : g.world.launched) EXPECT_NE(launch.task.index, 0u);
  g.beat_at(0, 1);
  EXPECT_EQ(g.world.state.task(g.reduce(0))->node, NodeId(1));
  EXPECT_EQ(g.world.state.task(g.reduce(0))->state, TaskState::running);
}

TEST(CogrsCentre, TakesAReduceAgainThatWasKilledThere) {
  Gathering g("cogrs", 2, {{1, {100, 0}}, {4, {0, 100}}});
  g.beat_at(0, 1);
  ASSERT_EQ(g.world.launched.size(), 1u);
  g.beat_at(0, 1);  // the other reduce has its centre elsewhere
  ASSERT_EQ(g.world.launched.size(), 1u);
  ASSERT_TRUE(g.world.preempt({g.reduce(0), 0}, "test"));
  g.world.scheduler->on_event(g.world.state, {Notice::Kind::task_preempted, g.job->id, StageId(1), 0, NodeId(1)});
  g.beat_at(0, 1);
  ASSERT_EQ(g.world.launched.size(), 2u);
  EXPECT_EQ(g.world.launched[1].task, g.reduce(0));
}

TEST(CogrsCentre, MovesWithOutputsWhoseNodeHasLeft) {
  Gathering g("cogrs", 1, {{1, {100}}, {4, {10}}});
  g.beat_at(0, 4);
  ASSERT_TRUE(g.world.launched.empty()) << "its centre is node 1";
  g.world.scheduler->on_event(g.world.state, {.kind = Notice::Kind::node_left, .node = NodeId(1)});
  g.maps->output.move(0, NodeId(4));  // a replica is there
  g.world.state.remove_node(NodeId(1));
  g.beat_at(0, 4);
  EXPECT_EQ(g.world.launched.size(), 1u);
}

TEST(CogrsCentre, AFreeNodeInItsRackIsNearerThanOneElsewhere) {
  // Twelve free nodes and three sources, so that racks are looked at and not every node. The sources have no room.
  World world("cogrs");
  for (std::uint32_t i = 1; i <= 12; ++i) world.node(i, fmt::format("h{}", i), i <= 6 ? "rack1" : "rack2", i <= 3 ? 0.5 : 1);
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(3), {});
  maps.output = ShuffleSizes(3, 1);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(world.launch({job.id, StageId(0), i}, NodeId(i + 1), "test"));
    maps.output.add(i, NodeId(i + 1), {100});
  }
  for (std::uint32_t i = 0; i < 3; ++i) world.finish({job.id, StageId(0), i});
  world.launched.clear();
  world.stage(job, 1, anywhere(1), {.cpu = 1}, 0, {0});
  world.beat(12);
  EXPECT_TRUE(world.launched.empty());
  world.beat(6);
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(CogrsPlan, HasReducesThatPauseAfterAFailureWhenItIsMade) {
  Gathering g("cogrs", 1, {{1, {100, 100}}});
  g.world.state.set_task(*g.job, *g.reduces, 0, TaskState::blocked);
  g.beat_at(0, 1);
  ASSERT_EQ(g.world.launched.size(), 1u);
  EXPECT_EQ(g.world.launched[0].task, g.reduce(1));
  g.world.finish(g.reduce(1));
  g.world.state.set_task(*g.job, *g.reduces, 0, TaskState::pending);
  g.beat_at(1, 1);
  ASSERT_EQ(g.world.launched.size(), 2u);
  EXPECT_EQ(g.world.launched[1].task, g.reduce(0));
}

}  // namespace
}  // namespace weft::schedulers::cogrs_rules

#include "schedulers/parts/free_nodes.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

/// Nodes 1 to `count` on hosts "h1", …, four to a rack.
struct Cluster : World {
  explicit Cluster(std::uint32_t count) {
    for (std::uint32_t id = 1; id <= count; ++id) node(id, fmt::format("h{}", id), fmt::format("r{}", (id - 1) / 4), 1);
  }
};

std::vector<std::uint32_t> visited(const FreeNodes& free, NodeWalk walk) {
  std::vector<std::uint32_t> ids;
  free.go_on(walk, [&ids](NodeId node) { return ids.push_back(node.value()), false; });
  return ids;
}

std::vector<std::uint32_t> numbers(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> ids;
  for (NodeId node : nodes) ids.push_back(node.value());
  return ids;
}

using Numbers = std::vector<std::uint32_t>;

TEST(FreeNodes, ComeInACircleThatBeginsAfterTheLast) {
  Cluster world(5);
  FreeNodes free;
  free.all(world.state, NodeId(3));
  EXPECT_EQ(free.count(), 5u);
  EXPECT_EQ(visited(free, free.walk()), (Numbers{4, 5, 1, 2, 3}));
  EXPECT_EQ(visited(free, FreeNodes::walk_after(NodeId(1))), (Numbers{2, 3, 4, 5, 1}));
  free.all(world.state, NodeId(9));
  EXPECT_EQ(visited(free, free.walk()), (Numbers{1, 2, 3, 4, 5}));
}

TEST(FreeNodes, AWalkGoesOnAfterTheNodeThatWasTaken) {
  Cluster world(4);
  FreeNodes free;
  free.all(world.state, NodeId(2));
  NodeWalk walk = free.walk();
  ASSERT_TRUE(free.go_on(walk, [](NodeId node) { return node == NodeId(4); }));
  EXPECT_EQ(walk.at, NodeId(4));
  EXPECT_EQ(visited(free, walk), (Numbers{1, 2}));
}

TEST(FreeNodes, ANodeThatHasBecomeFullStaysAmongThem) {
  Cluster world(3);
  FreeNodes free;
  free.all(world.state, NodeId(0));
  JobInfo& job = world.job(1);
  world.state.occupy(NodeId(2), {{JobId(1), StageId(0), 0}, 0}, job, {.cpu = 1});
  EXPECT_EQ(visited(free, free.walk()), (Numbers{1, 3}));
  EXPECT_FALSE(free.contains(NodeId(2)));
  free.filled(NodeId(2));
  EXPECT_EQ(visited(free, free.walk()), (Numbers{1, 2, 3}));
  EXPECT_TRUE(free.contains(NodeId(2)));
}

TEST(FreeNodes, OneNodeIsThatNode) {
  Cluster world(3);
  FreeNodes free;
  free.one(NodeId(2));
  EXPECT_EQ(free.count(), 1u);
  EXPECT_EQ(free.only(), NodeId(2));
  EXPECT_TRUE(free.contains(NodeId(2)));
  EXPECT_FALSE(free.contains(NodeId(1)));
  free.none();
  EXPECT_EQ(free.count(), 0u);
}

TEST(FreeNodes, FewTasksNameTheNodesNearThemInTheOrderOfTheWalk) {
  Cluster world(40);
  StageInfo& stage = world.stage(world.job(1), 0, {{"h7", "h30"}, {"h2", "elsewhere"}});
  FreeNodes free;
  free.all(world.state, NodeId(10));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), (Numbers{30, 2, 7}));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, true).value()), (Numbers{30, 2, 7}));
  EXPECT_FALSE(free.near(stage, Locality::rack, false)) << "12 of 40 nodes: as well a look at each";
  world.state.set_task(world.state.mutable_job(JobId(1)), stage, 0, TaskState::running);
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), (Numbers{2}));
  EXPECT_EQ(numbers(free.near(stage, Locality::rack, false).value()), (Numbers{1, 2, 3, 4}));
}

TEST(FreeNodes, NodesWithoutRoomAreNotNear) {
  Cluster world(40);
  StageInfo& stage = world.stage(world.job(1), 0, {{"h7", "h30"}});
  world.state.occupy(NodeId(7), {{JobId(1), StageId(0), 9}, 0}, world.state.mutable_job(JobId(1)), {.cpu = 1});
  FreeNodes free;
  free.all(world.state, NodeId(0));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), (Numbers{30}));
}

TEST(FreeNodes, NobodyIsNearTasksWithoutPreferenceUnlessPromised) {
  Cluster world(40);
  StageInfo& stage = world.stage(world.job(1), 0, anywhere(100));
  FreeNodes free;
  free.all(world.state, NodeId(0));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), Numbers{});
  EXPECT_FALSE(free.near(stage, Locality::node, true)) << "all of them prefer nothing";
  world.state.preplace(stage, 3, NodeId(5));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), Numbers{5});
}

TEST(FreeNodes, AMixedStageIsNotAllParticular) {
  Cluster world(40);
  StageInfo& stage = world.stage(world.job(1), 0, {{"h7"}, {}});
  FreeNodes free;
  free.all(world.state, NodeId(0));
  EXPECT_FALSE(free.near(stage, Locality::node, true));
  EXPECT_EQ(numbers(free.near(stage, Locality::node, false).value()), Numbers{7});
}

/// Placed tasks go where their input lies however many nodes are idle, then into its rack, then anywhere, from the next node on.
TEST(FreeNodes, ASchedulerFindsTheNearNodesAmongManyIdleOnes) {
  Cluster world(400);
  world.job(1, 0, Time(0), {{"h200"}, {"h300"}, {"h200"}});
  world.schedule();
  std::vector<std::uint32_t> nodes;
  for (const auto& launch : world.launched) nodes.push_back(launch.node.value());
  EXPECT_EQ(nodes, (Numbers{200, 300, 197}));
}

}  // namespace
}  // namespace weft::schedulers

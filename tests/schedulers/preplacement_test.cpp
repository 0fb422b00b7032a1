// Nodes for reduces before their maps have ended: Algorithms 1 and 2 of SCache on what is known of a shuffle.
#include "schedulers/parts/preplacement.hpp"

#include <algorithm>

#include "schedulers/parts/reduce_mapping.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::preplacement_rules {
namespace {

/// A stage of maps on nodes of that many slots each, and a stage that reads it.
struct Shuffle {
  World world;
  JobInfo* job = nullptr;
  StageInfo* maps = nullptr;
  StageInfo* reader = nullptr;

  Shuffle(const std::vector<double>& slots, std::uint32_t tasks, std::uint32_t partitions) {
    for (std::uint32_t i = 0; i < slots.size(); ++i) world.node(i + 1, fmt::format("h{}", i + 1), "r", slots[i]);
    job = &world.job(1);
    maps = &world.stage(*job, 0, anywhere(tasks), {});
    maps->output = ShuffleSizes(tasks, partitions);
    reader = &world.stage(*job, 1, anywhere(partitions), {.cpu = 1}, 0, {0});
  }
  void finish(std::uint32_t map, std::uint32_t node, const std::vector<std::uint64_t>& sizes) {
    const TaskId task{job->id, StageId(0), map};
    ASSERT_TRUE(world.launch(task, NodeId(node), "test"));
    maps->output.add(map, NodeId(node), sizes);
    world.finish(task);
  }
  void place(bool fresh = true) {
    std::vector<Preplaceable::Input> input{{StageId(0), 0}};
    preplace_by_size(world.state,
                     fresh ? Preplaceable{job->id, StageId(1), input, {}} : Preplaceable{job->id, StageId(1), {}, input}, world);
  }
  std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> all;
    for (const TaskInfo& task : reader->tasks) all.push_back(task.preplaced ? task.preplaced->value() : 0);
    return all;
  }
};
using Nodes = std::vector<std::uint32_t>;

TEST(PreplacementBySize, IsLargestFirstToTheEmptiestNode) {
  Shuffle shuffle({1, 1}, 2, 4);
  shuffle.finish(0, 1, {9, 5, 4, 3});
  shuffle.finish(1, 2, {9, 5, 4, 3});
  shuffle.place();
  const Nodes nodes = shuffle.nodes();
  EXPECT_EQ(nodes[0], nodes[3]) << "9 and 3, 5 and 4";
  EXPECT_EQ(nodes[1], nodes[2]);
  EXPECT_NE(nodes[0], nodes[1]);
}

/// Reduces of 110, 100 and so on: largest first puts 0 and 3 on node 1, 1 and 2 on node 2 (210 and 190), or the other way round.
/// All of `share` percent of reduce 1's input is on node 1.
std::size_t moved(std::uint32_t maps_left, std::uint64_t worse) {
  Shuffle shuffle({1, 1}, 2 + maps_left, 3);
  // Reduce 0 has 100 and is on node 1; reduces 1 and 2 share node 2. Reduce 1 was made by node 1 alone.
  shuffle.finish(0, 1, {100, worse, 0});
  shuffle.finish(1, 2, {0, 0, 100 - worse});
  shuffle.place();
  return shuffle.nodes()[1] == shuffle.nodes()[0] ? 1u : 0u;
}

TEST(PreplacementBySize, MovesAReduceToItsProducerWithinATenthWhileMapsRunAndAHalfAfterwards) {
  // Node 1 has 100, node 2 has `worse` and 100 - worse. Moving reduce 1 makes node 1 fuller by `worse`.
  EXPECT_EQ(moved(2, 8), 1u) << "8 % more while maps run";
  EXPECT_EQ(moved(2, 12), 0u) << "12 % more while maps run";
  EXPECT_EQ(moved(0, 12), 1u) << "12 % more when all have ended";
  EXPECT_EQ(moved(0, 45), 1u);
  EXPECT_EQ(moved(0, 49), 1u);
}

TEST(PreplacementBySize, AShareAsOfAnyMapDrawsAReduceNowhere) {
  // Ten maps on ten nodes have ended and wrote the same. What any node has of a reduce, a tenth, says nothing: balance decides
  // alone, so no node is fuller than the largest first rule makes it.
  Shuffle shuffle(std::vector<double>(10, 1), 10, 10);
  for (std::uint32_t map = 0; map < 10; ++map) {
    std::vector<std::uint64_t> sizes(10, 100);
    sizes[9] = 4;
    shuffle.finish(map, map + 1, sizes);
  }
  shuffle.place();
  const Nodes nodes = shuffle.nodes();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(std::count(nodes.begin(), nodes.end(), nodes[i]), 1) << i;
}

TEST(PreplacementBySize, TasksStayWhereTheirBlocksAreWhenAnotherNodeLeaves) {
  Shuffle shuffle({1, 1, 1}, 2, 3);
  shuffle.finish(0, 1, {30, 20, 10});
  shuffle.finish(1, 2, {30, 20, 10});
  for (const auto& [task, node] : {std::pair(0u, 1u), std::pair(1u, 1u), std::pair(2u, 3u)})
    ASSERT_TRUE(shuffle.world.preplace({shuffle.job->id, StageId(1), task}, NodeId(node), "test"));
  shuffle.world.leave(3);
  shuffle.place(false);
  EXPECT_EQ(shuffle.nodes(), (Nodes{1, 1, 2})) << "also where that is less even";
}

TEST(PreplacementBySize, NodesWithoutRoomForATaskGetNone) {
  Shuffle shuffle({0.5, 1, 1, 1}, 2, 4);
  for (std::uint32_t map = 0; map < 2; ++map) {
    const TaskId task{shuffle.job->id, StageId(0), map};
    ASSERT_TRUE(shuffle.world.launch(task, NodeId(2 + map), "test"));
    shuffle.maps->output.add(map, NodeId(2 + map), {9, 5, 4, 3});
    shuffle.world.finish(task);
  }
  shuffle.place();
  const Nodes nodes = shuffle.nodes();
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 1u), 0);
  EXPECT_GT(std::count(nodes.begin(), nodes.end(), 4u), 0);
  shuffle.world.leave(4);
  shuffle.place(false);
  const Nodes after = shuffle.nodes();
  EXPECT_EQ(std::count(after.begin(), after.end(), 1u), 0) << "what was on the node that left";
}

TEST(PreplacementBySize, TheProducerOfAJoinsTaskHasMostOfAllItsInputsTogether) {
  // Of task 0 node 1 holds 40 of the first input, node 2 holds 30 of each; of task 1 both hold as much.
  World world;
  for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 1);
  JobInfo& job = world.job(1);
  const std::vector<std::vector<std::vector<std::uint64_t>>> written{{{40, 25}, {30, 25}}, {{0, 25}, {30, 25}}};
  for (std::uint32_t input = 0; input < 2; ++input) {
    StageInfo& maps = world.stage(job, input, anywhere(2), {});
    maps.output = ShuffleSizes(2, 2);
    for (std::uint32_t map = 0; map < 2; ++map) maps.output.add(map, NodeId(map + 1), written[input][map]);
  }
  const StageInfo& reader = world.stage(job, 2, anywhere(2), {.cpu = 1}, 0, {0, 1});
  preplace_by_size(world.state, {job.id, StageId(2), {{StageId(0), 0}, {StageId(1), 0}}, {}}, world);
  EXPECT_EQ(reader.tasks[0].preplaced, NodeId(2));
  EXPECT_EQ(reader.tasks[1].preplaced, NodeId(1));
}

TEST(ReduceMappingLeeway, GrowsWithTheShareAboveTheNeutralOne) {  // nor = (prob - 1/m) / (1 - 1/m) / 10
  // Node 0 has 100; moving reduce 1 of 5 there is 5 % worse: allowed from a share of 1/4 + 3/4 / 2 on.
  const std::vector<double> slots(2, 1);
  for (const auto& [share, node] : {std::pair(0.25, 1u), std::pair(0.6, 1u), std::pair(0.65, 0u), std::pair(1.0, 0u)}) {
    const std::vector<SizedReduce> reduces{{100, 0, std::nullopt}, {5, share, 0}, {60, 0, std::nullopt}};
    const ReduceMapping mapping = map_reduces(slots, reduces, 0.25);
    ASSERT_EQ(mapping.node[0], 0u);
    EXPECT_EQ(mapping.node[1], node) << share;
  }
}

TEST(PreplacementBySize, AShareIsOfWhatWasObserved) {
  // One map of two has ended: what it wrote for reduce 1 is all there is of it, though it will be twice as much.
  Shuffle shuffle({1, 1}, 2, 3);
  shuffle.finish(0, 1, {100, 8, 92});
  shuffle.place();
  EXPECT_EQ(shuffle.nodes()[0], shuffle.nodes()[1]) << "16 % of 200 are more than a tenth; 8 % are not";
}

TEST(PreplacementBySize, NodesWithoutRoomForATaskAndTasksThatAvoidOneAreLeftOut) {
  Shuffle shuffle({1, 0.5, 1}, 2, 6);
  shuffle.world.state.set_avoid(*shuffle.reader, 5, NodeId(1));
  shuffle.finish(0, 1, {1, 1, 1, 1, 1, 1});
  shuffle.finish(1, 3, {1, 1, 1, 1, 1, 1});
  shuffle.place();
  const Nodes nodes = shuffle.nodes();
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 2u), 0);
  EXPECT_EQ(nodes[5], 0u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NE(nodes[i], 0u);
}

TEST(PreplacementAfterALoss, TheOthersStayAndTheLargestGoesToTheNodeWithTheLeastPerSlot) {
  Shuffle shuffle({1, 4, 1}, 2, 6);
  shuffle.finish(0, 2, {40, 40, 30, 30, 20, 10});
  shuffle.finish(1, 2, {0, 0, 0, 0, 0, 0});
  // By hand: node 1 has 40, node 2 has 40 + 30 of four slots, and what node 3 had (30, 20, 10) is to be placed again.
  for (const auto& [task, node] :
       {std::pair(0u, 1u), std::pair(1u, 2u), std::pair(2u, 2u), std::pair(3u, 3u), std::pair(4u, 3u), std::pair(5u, 3u)})
    shuffle.world.state.preplace(*shuffle.reader, task, NodeId(node));
  shuffle.world.state.remove_node(NodeId(3));
  shuffle.place(false);
  EXPECT_EQ(shuffle.nodes(), (Nodes{1, 2, 2, 2, 2, 2})) << "70/4, 100/4, 120/4 against 40/1";
}

/// A job of one map, which ended on node 1, and a reader of so many tasks of so many bytes each; placed.
std::map<NodeId, std::size_t> place_one_more(World& world, std::uint64_t id, std::uint32_t tasks, std::uint64_t bytes) {
  JobInfo& job = world.job(id);
  StageInfo& maps = world.stage(job, 0, anywhere(1));
  StageInfo& reader = world.stage(job, 1, anywhere(tasks), {.cpu = 1}, 0, {0});
  maps.output = ShuffleSizes(1, tasks);
  maps.output.add(0, NodeId(1), std::vector<std::uint64_t>(tasks, bytes));
  world.scheduler->preplace(world.state, {job.id, reader.id, {{StageId(0), 0}}, {}}, world);
  std::map<NodeId, std::size_t> placed;
  for (const auto& [node, there] : reader.preplaced) placed[node] = there.size();
  return placed;
}

TEST(PreplacementAmongJobs, ReducesOfOtherJobsCount) {
  World world;
  for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 2);
  EXPECT_EQ(place_one_more(world, 1, 1, 1000), (std::map<NodeId, std::size_t>{{NodeId(1), 1}}));
  EXPECT_EQ(place_one_more(world, 2, 4, 100), (std::map<NodeId, std::size_t>{{NodeId(2), 4}})) << "400 bytes are less than 1000";
  EXPECT_EQ(place_one_more(world, 3, 1, 100), (std::map<NodeId, std::size_t>{{NodeId(2), 1}}));
}

TEST(PreplacementAmongJobs, RunningTasksCountButForThoseThatWriteWhatIsPlaced) {
  World world;
  for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 2);
  world.job(1, 0, Time(0), anywhere(1));
  world.state.mutable_job(JobId(1)).stages.at(StageId(0)).tasks[0].input_bytes = 1000;
  world.beat(1);
  ASSERT_EQ(world.launched.size(), 1u);
  EXPECT_EQ(place_one_more(world, 2, 2, 100), (std::map<NodeId, std::size_t>{{NodeId(2), 2}}));
  world.end(1);
}

}  // namespace
}  // namespace weft::schedulers::preplacement_rules

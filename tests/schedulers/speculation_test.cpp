// Where speculative attempts go: near their input, on nodes that are not slow, never beside the first attempt.
#include "schedulers/parts/speculation.hpp"

#include <tuple>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::speculation_rules {
namespace {

struct Recorder : Decisions {
  std::vector<NodeId> nodes;
  Result<void> launch(const TaskId&, NodeId node, std::string_view) override { return nodes.push_back(node), Result<void>(); }
  Result<void> preempt(const AttemptId&, std::string_view) override { return {}; }
  Result<void> preplace(const TaskId&, NodeId, std::string_view) override { return {}; }
  void hold(JobId, std::optional<StageId>, std::string_view) override {}
  void wake_at(Time) override {}
};

/// One task that reads what is on host "b" runs on node 1 and takes long. Nodes: 1 and 2 (hosts a, b) in rack 1, 3 (c) as well, 4
/// (d) elsewhere.
struct Straggler {
  World world;
  const TaskId task{JobId(1), StageId(0), 0};

  explicit Straggler(const std::string& spec = "fifo") : world(spec) {
    for (const auto& [id, host, rack] :
         {std::tuple(1u, "a", "r1"), std::tuple(2u, "b", "r1"), std::tuple(3u, "c", "r1"), std::tuple(4u, "d", "r2")})
      world.node(id, host, rack, 2);
    world.job(1, 0, Time(0), {{"b"}});
    EXPECT_TRUE(world.launch(task, NodeId(1), "test"));
    world.state.set_straggler(task, true);
  }
  /// Takes the node out, so that it has no room.
  void fill(std::uint32_t node) { world.state.set_capacity(NodeId(node), {.cpu = 0.5}); }
  std::vector<NodeId> places() {
    Recorder recorder;
    world.scheduler->speculate(world.state, {}, recorder);
    return recorder.nodes;
  }
};
using Places = std::vector<NodeId>;

TEST(SpeculativeAttempts, GoToTheInputThenItsRackThenAnywhere) {
  Straggler straggler;
  EXPECT_EQ(straggler.places(), (Places{NodeId(2)}));
  straggler.fill(2);
  EXPECT_EQ(straggler.places(), (Places{NodeId(3)}));
  straggler.fill(3);
  EXPECT_EQ(straggler.places(), (Places{NodeId(4)}));
  straggler.fill(4);
  EXPECT_EQ(straggler.places(), Places{}) << "never to the node of the first";
}

TEST(SpeculativeAttempts, AvoidSlowNodesAndTheOneTheTaskFailedOn) {
  Straggler straggler;
  straggler.world.state.mutable_node(NodeId(2)).slow = true;
  EXPECT_EQ(straggler.places(), (Places{NodeId(3)}));
  straggler.world.state.set_avoid(straggler.world.state.mutable_job(JobId(1)).stages.at(StageId(0)), 0, NodeId(3));
  EXPECT_EQ(straggler.places(), (Places{NodeId(4)}));
}

TEST(SpeculativeAttempts, OfNodesAsNearTheOneWithMostRoomIsTaken) {
  Straggler straggler;
  straggler.fill(2);
  straggler.world.node(5, "e", "r1", 2);
  straggler.world.job(2, 0, Time(0), anywhere(1));
  ASSERT_TRUE(straggler.world.launch({JobId(2), StageId(0), 0}, NodeId(3), "test"));
  EXPECT_EQ(straggler.places(), (Places{NodeId(5)}));
}

TEST(SpeculativeAttempts, LeaveRoomToJobsThatWaitForABetterPlace) {
  for (const auto& [spec, waits] : {std::pair("fifo", false), std::pair("delay(inner=fifo)", true), std::pair("cogrs", true)}) {
    Straggler straggler(spec);
    straggler.world.job(2, 0, Time(0), {{"nowhere"}});
    EXPECT_EQ(straggler.places().empty(), waits) << spec;
  }
}

TEST(SpeculativeAttempts, LeaveNoRoomToTasksThatFitNowhere) {
  for (const std::string spec : {"fsp", "delay(inner=fifo)", "cogrs"}) {
    Straggler straggler(spec);
    straggler.world.job(2, 0, Time(0), anywhere(1), {.cpu = 3});
    EXPECT_EQ(straggler.places(), (Places{NodeId(2)})) << spec;
  }
}

TEST(SpeculativeAttempts, KeepWithinTheLimitsOfQueues) {
  const std::map<std::string, std::string> files{{"q.toml", R"(
[[queue]]
name = "top"
capacity = 50
max_capacity = 50
[[queue]]
name = "leaf"
parent = "top"
capacity = 100
user_limit_factor = 10
[[queue]]
name = "default"
capacity = 50
)"}};
  for (const auto& [tasks, places] : {std::pair(3u, 1u), std::pair(4u, 0u)}) {
    World world("capacity(queues=q.toml)", files);
    world.node(1, "a", "r", 4);
    world.node(2, "b", "r", 4);
    world.stage(world.job(1, "u", "leaf"), 0, anywhere(tasks));
    world.schedule();
    ASSERT_EQ(world.running(1), tasks);
    world.state.set_straggler({JobId(1), StageId(0), 0}, true);
    Recorder recorder;
    world.scheduler->speculate(world.state, {}, recorder);
    EXPECT_EQ(recorder.nodes.size(), places) << tasks << " of four run, which is all that queue top may have";
  }
}

TEST(SpeculativeAttempts, KeepWithinTheLimitOfTheQueuesAboveTheirJobs) {
  // Each of the two queues has 2 of the 4 that it may have; together they have the 4 that top may have.
  const std::map<std::string, std::string> files{{"q.toml", R"(
[[queue]]
name = "top"
capacity = 50
max_capacity = 50
[[queue]]
name = "other"
capacity = 50
[[queue]]
name = "left"
parent = "top"
capacity = 50
user_limit_factor = 9
[[queue]]
name = "right"
parent = "top"
capacity = 50
user_limit_factor = 9
)"}};
  for (const auto& [right, places] : {std::pair(1u, 1u), std::pair(2u, 0u)}) {
    World world("capacity(queues=q.toml)", files);
    world.node(1, "a", "r", 4);
    world.node(2, "b", "r", 4);
    world.stage(world.job(1, "u", "left"), 0, anywhere(2));
    world.stage(world.job(2, "u", "right"), 0, anywhere(right));
    world.schedule();
    ASSERT_EQ(world.running(1) + world.running(2), 2u + right);
    world.state.set_straggler({JobId(1), StageId(0), 0}, true);
    Recorder recorder;
    world.scheduler->speculate(world.state, {}, recorder);
    EXPECT_EQ(recorder.nodes.size(), places) << right;
  }
}

}  // namespace
}  // namespace weft::schedulers::speculation_rules

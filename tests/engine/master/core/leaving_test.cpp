// Workers that leave: no more tasks go there, and what others need of their map outputs is elsewhere before they are gone.
#include <algorithm>
#include <set>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

/// Three nodes of four slots, and a job that wants one copy of its outputs: `maps` maps, then two reduces.
class LeavingTest : public ::testing::Test {
 protected:
  void begin(std::uint32_t maps, std::uint32_t nodes = 3) {
    for (std::uint32_t node = 1; node <= nodes; ++node) d.join(node, 4);
    d.submit(1);
    ASSERT_TRUE(d.extend(1, part(0, {source(0, maps, 2), result(reader(1, {0}, 2, 0))})));
  }
  void leave(NodeId node) { ASSERT_TRUE(d.apply(WorkerLeaving{node})); }
  void lose(NodeId node) {
    std::erase_if(d.running, [&](const auto& entry) { return entry.second == node; });
    ASSERT_TRUE(d.lose(node.value()));
  }
  NodeId finish_map(std::uint32_t map) {
    const AttemptId attempt = d.running_attempt(1, 0, map);
    const NodeId node = d.running.at(attempt);
    EXPECT_TRUE(d.finish(attempt));
    return node;
  }
  std::vector<ReplicateOutput> copies() const {
    std::vector<ReplicateOutput> found;
    for (const ReplicateOutput* command : d.all<ReplicateOutput>()) found.push_back(*command);
    return found;
  }
  Result<void> copied(const ReplicateOutput& command) {
    return d.apply(OutputReplicated{{command.node, command.job, command.shuffle, command.output.map, command.output.attempt}});
  }
  Result<void> not_copied(const ReplicateOutput& command) {
    return d.apply(
        ReplicaFailed{{command.node, command.job, command.shuffle, command.output.map, command.output.attempt}, "disk full"});
  }
  NodeRemains remains(NodeId node) const { return d.core.remains(node); }
  std::size_t launched_on(NodeId node) const {
    const auto all = d.all<LaunchTask>();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const LaunchTask* launch) { return launch->node == node; }));
  }

  Driver d;
};

TEST_F(LeavingTest, GetsNoMoreTasksAndKeepsThoseThatRun) {
  begin(20);
  const std::size_t before = launched_on(NodeId(1));
  ASSERT_GT(before, 0u);
  EXPECT_EQ(remains(NodeId(1)).tasks, before);
  leave(NodeId(1));
  EXPECT_EQ(remains(NodeId(1)).tasks, before) << "they go on";
  while (remains(NodeId(1)).tasks > 0) {
    const auto there =
        std::find_if(d.running.begin(), d.running.end(), [](const auto& entry) { return entry.second == NodeId(1); });
    ASSERT_NE(there, d.running.end());
    ASSERT_TRUE(d.finish(AttemptId(there->first)));
  }
  EXPECT_EQ(launched_on(NodeId(1)), before);
  EXPECT_EQ(remains(NodeId(1)).outputs, before);
  const auto explained = d.core.explain(JobId(1));
  ASSERT_TRUE(explained);
  ASSERT_FALSE(explained->waiting.empty());
  EXPECT_NE(explained->waiting.front().reason.find("1 leaving"), std::string::npos) << explained->waiting.front().reason;
  EXPECT_EQ(explained->waiting.front().reason.find("excluded"), std::string::npos) << explained->waiting.front().reason;
}

TEST_F(LeavingTest, HandsOverItsOutputsWhateverTheJobWants) {
  begin(6);
  std::vector<NodeId> where;
  for (std::uint32_t map = 0; map < 3; ++map) where.push_back(finish_map(map));
  ASSERT_TRUE(copies().empty()) << "the job wants one copy";
  const NodeId leaves = where[0];
  leave(leaves);
  for (std::uint32_t map = 3; map < 6; ++map) where.push_back(finish_map(map));
  const auto there = static_cast<std::size_t>(std::count(where.begin(), where.end(), leaves));
  ASSERT_EQ(copies().size(), there) << "those it has and those it makes; no others";
  EXPECT_EQ(remains(leaves).outputs, there);
  for (const ReplicateOutput& copy : copies()) {
    EXPECT_EQ(copy.output.node, leaves);
    EXPECT_NE(copy.node, leaves);
    ASSERT_TRUE(copied(copy));
  }
  EXPECT_EQ(remains(leaves).outputs, 0u);
  EXPECT_EQ(remains(leaves).tasks, 0u);
  lose(leaves);
  EXPECT_EQ(d.launches(0), 6u) << "no map runs again";
  EXPECT_EQ(d.all<OutputMoved>().size(), there);
  EXPECT_EQ(copies().size(), there) << "one copy is enough again";
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST_F(LeavingTest, ACopyOnANodeThatLeavesIsMadeAnewOnOneThatStays) {
  begin(1);
  const NodeId first = finish_map(0);
  leave(first);
  ASSERT_EQ(copies().size(), 1u);
  const ReplicateOutput copy = copies().back();
  ASSERT_TRUE(copied(copy));
  leave(copy.node);
  ASSERT_EQ(copies().size(), 2u);
  const ReplicateOutput next = copies().back();
  EXPECT_NE(next.node, copy.node);
  EXPECT_NE(next.node, first);
  EXPECT_EQ(remains(first).outputs, 1u);
  ASSERT_TRUE(copied(next));
  EXPECT_EQ(remains(first).outputs, 0u);
}

TEST_F(LeavingTest, ACopyThatIsMadeWhenItsNodeBeganToLeaveCountsForNothing) {
  begin(1);
  const NodeId first = finish_map(0);
  leave(first);
  const ReplicateOutput copy = copies().back();
  leave(copy.node);
  ASSERT_EQ(copies().size(), 1u) << "it is still being made";
  ASSERT_TRUE(copied(copy));
  ASSERT_EQ(copies().size(), 2u);
  EXPECT_NE(copies().back().node, copy.node);
  EXPECT_EQ(remains(first).outputs, 1u);
}

TEST_F(LeavingTest, WithoutAnotherNodeItsOutputsWaitForOne) {
  begin(2, 1);
  finish_map(0);
  leave(NodeId(1));
  EXPECT_TRUE(copies().empty());
  EXPECT_EQ(remains(NodeId(1)).outputs, 1u);
  EXPECT_EQ(remains(NodeId(1)).abandoned, 0u);
  d.join(2, 4);
  ASSERT_EQ(copies().size(), 1u);
  EXPECT_EQ(copies().back().node, NodeId(2));
}

TEST_F(LeavingTest, WhatNobodyCanCopyKeepsItNoLonger) {
  begin(1);
  const NodeId first = finish_map(0);
  leave(first);
  ASSERT_TRUE(not_copied(copies().at(0)));
  ASSERT_TRUE(not_copied(copies().at(1)));
  EXPECT_EQ(remains(first).outputs, 0u);
  EXPECT_EQ(remains(first).abandoned, 1u);
  lose(first);
  EXPECT_EQ(d.launches(0), 2u) << "the map runs again";
}

TEST_F(LeavingTest, WhatNoJobNeedsAnyMoreIsNotHandedOver) {
  begin(2);
  for (std::uint32_t map = 0; map < 2; ++map) finish_map(map);
  d.drain();
  ASSERT_TRUE(d.apply(JobClosed{JobId(1)}));
  for (std::uint32_t node = 1; node <= 3; ++node) {
    leave(NodeId(node));
    EXPECT_EQ(remains(NodeId(node)).outputs, 0u);
  }
  EXPECT_TRUE(copies().empty());
}

TEST_F(LeavingTest, IsRefusedOfANodeThatIsNotThereAndIdleTheSecondTime) {
  begin(2);
  finish_map(0);
  EXPECT_EQ(d.apply(WorkerLeaving{NodeId(9)}).error().code(), Code::not_found);
  EXPECT_EQ(remains(NodeId(9)).tasks, 0u);
  for (std::uint32_t node = 1; node <= 3; ++node) leave(NodeId(node));
  const std::size_t commands = d.commands.size();
  for (std::uint32_t node = 1; node <= 3; ++node) leave(NodeId(node));
  EXPECT_EQ(d.commands.size(), commands);
  EXPECT_EQ(d.core.view().capacity().cpu, 0) << "the cluster has no room at all";
  lose(NodeId(1));
  d.join(4, 3);
  EXPECT_EQ(d.core.view().capacity().cpu, 3);
}

TEST_F(LeavingTest, AnExclusionThatEndsMeanwhileGivesItNoTasks) {
  CoreOptions options;
  options.max_failures_per_node = 1;
  Driver other(options);
  other.join(1, 1);
  other.join(2, 1);
  other.submit(1, 100);
  ASSERT_TRUE(other.extend(1, part(0, {source(0, 4, 1)})));
  other.submit(2, 100);
  ASSERT_TRUE(other.extend(2, part(0, {result(source(0, 4, 1))})));
  AttemptId on_one{};
  for (const auto& [attempt, node] : other.running)
    if (node == NodeId(1)) on_one = attempt;
  ASSERT_TRUE(other.fail_task(on_one, FailureKind::environment));
  ASSERT_FALSE(other.core.view().node(NodeId(1))->usable());
  ASSERT_TRUE(other.apply(WorkerLeaving{NodeId(1)}));
  const SetTimer* timer = nullptr;
  for (const SetTimer* each : other.all<SetTimer>()) timer = each;
  ASSERT_NE(timer, nullptr);
  other.now = timer->at;
  (void)other.apply(TimerFired{timer->timer});
  EXPECT_FALSE(other.core.view().node(NodeId(1))->usable());
  EXPECT_EQ(other.core.view().capacity().cpu, 1);
}

}  // namespace
}  // namespace weft::master

// Readers get nodes while maps run: when, where, once per input, and again when a node leaves. And what job status foretells.
#include <algorithm>
#include <set>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

CoreOptions at(double part) {
  CoreOptions options;
  options.preplace_at = part;
  return options;
}

/// Ends a running map of job 1 that read and wrote so much.
void finish_map(Driver& d, std::uint32_t stage, std::uint32_t map, std::uint64_t input, const std::vector<std::uint64_t>& bytes,
                std::vector<std::uint32_t> spread = {}) {
  d.finish_map(d.running_attempt(1, stage, map), bytes, input, std::move(spread));
}

const schedulers::StageInfo& stage(const Driver& d, std::uint32_t id) { return *d.core.view().stage(JobId(1), StageId(id)); }

std::size_t placed(const Driver& d, std::uint32_t id) {
  std::size_t count = 0;
  for (const auto& [node, tasks] : stage(d, id).preplaced) count += tasks.size();
  return count;
}

TEST(Preplacement, GivesAllReducesNodesWhenEnoughMapsHaveEnded) {
  Driver d(at(0.25));
  d.join(1, 4);
  d.join(2, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 8, 20), result(reader(1, {0}, 20, 0))})));
  finish_map(d, 0, 0, 100, std::vector<std::uint64_t>(20, 10));
  EXPECT_EQ(placed(d, 1), 0u) << "one map of eight tells too little";
  finish_map(d, 0, 1, 100, std::vector<std::uint64_t>(20, 10));
  EXPECT_EQ(placed(d, 1), 20u);
  EXPECT_EQ(stage(d, 1).preplaced.at(NodeId(1)).size(), 10u);
  const auto before = stage(d, 1).preplaced;
  finish_map(d, 0, 2, 100, std::vector<std::uint64_t>(20, 10));
  EXPECT_EQ(stage(d, 1).preplaced, before) << "once";
  while (!d.running.empty()) {  // both nodes get on alike
    for (std::uint32_t node : {1u, 2u}) {
      const auto one =
          std::find_if(d.running.begin(), d.running.end(), [&](const auto& entry) { return entry.second == NodeId(node); });
      if (one == d.running.end()) continue;
      ASSERT_TRUE(d.finish(AttemptId(one->first)));
    }
  }
  for (const auto* launch : d.all<LaunchTask>()) {
    if (launch->attempt.task.stage != StageId(1)) continue;
    EXPECT_TRUE(before.at(launch->node).contains(launch->attempt.task.index)) << launch->attempt.task.index;
  }
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST(Preplacement, BalancesPredictedBytes) {
  Driver d(at(0.5));
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 4), result(reader(1, {0}, 4, 0))})));
  finish_map(d, 0, 0, 100, {30, 10, 10, 10});
  const NodeId large = *stage(d, 1).tasks[0].preplaced;
  for (std::uint32_t task = 1; task < 4; ++task) EXPECT_NE(stage(d, 1).tasks[task].preplaced, large);
}

TEST(Preplacement, KeepsAReduceWithTheProducerOfMostOfItsInput) {
  Driver d(at(1e-9));
  for (std::uint32_t node = 1; node <= 4; ++node) d.join(node, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 4), result(reader(1, {0}, 4, 0))})));
  std::vector<NodeId> producers;
  for (std::uint32_t map = 0; map < 4; ++map) producers.push_back(d.running.at(d.running_attempt(1, 0, map)));
  std::vector<std::uint64_t> sizes(4, 1);
  sizes[2] = 93;
  finish_map(d, 0, 0, 100, sizes);
  EXPECT_EQ(stage(d, 1).tasks[2].preplaced, producers[0]);
}

TEST(Preplacement, WaitsForAllMapsThatWriteForDifferentReduces) {
  Driver d(at(0.25));
  for (std::uint32_t node = 1; node <= 4; ++node) d.join(node, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 8, 8), result(reader(1, {0}, 8, 0))})));
  std::vector<NodeId> producers;
  for (std::uint32_t map = 0; map < 8; ++map) producers.push_back(d.running.at(d.running_attempt(1, 0, map)));
  for (std::uint32_t map = 0; map < 8; ++map) {
    EXPECT_EQ(placed(d, 1), 0u) << map;
    EXPECT_TRUE(d.all<PrefetchShuffle>().empty());
    std::vector<std::uint64_t> sizes(8, 1);
    sizes[map] = 93;
    finish_map(d, 0, map, 100, sizes);
  }
  for (const auto* launch : d.all<LaunchTask>()) {
    if (launch->attempt.task.stage != StageId(1)) continue;
    EXPECT_EQ(launch->node, producers[launch->attempt.task.index]) << launch->attempt.task.index;
  }
  EXPECT_EQ(d.launches(1), 8u);
}

TEST(Preplacement, PlacesAJoinOnceForEachOfItsInputs) {
  Driver d(at(0.5));
  d.join(1, 4);
  d.join(2, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 4), source(1, 2, 4), result(reader(2, {0, 1}, 4, 0))})));
  finish_map(d, 0, 0, 100, {500, 1, 1, 500});
  EXPECT_EQ(placed(d, 2), 4u);
  EXPECT_NE(stage(d, 2).tasks[0].preplaced, stage(d, 2).tasks[3].preplaced);
  finish_map(d, 1, 0, 100, {1, 900, 1, 1});  // the two of before belong together now
  EXPECT_EQ(stage(d, 2).tasks[0].preplaced, stage(d, 2).tasks[3].preplaced);
  EXPECT_NE(stage(d, 2).tasks[0].preplaced, stage(d, 2).tasks[1].preplaced);
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST(Preplacement, TasksOfANodeThatLeavesArePlacedAnewAndTheOthersStay) {
  Driver d(at(0.25));
  for (std::uint32_t node = 1; node <= 3; ++node) d.join(node, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 12), result(reader(1, {0}, 12, 0))})));
  finish_map(d, 0, 0, 100, std::vector<std::uint64_t>(12, 10));
  ASSERT_EQ(placed(d, 1), 12u);
  const auto before = stage(d, 1).preplaced;
  ASSERT_TRUE(d.lose(2));
  std::erase_if(d.running, [](const auto& entry) { return entry.second == NodeId(2); });
  EXPECT_EQ(placed(d, 1), 12u);
  for (std::uint32_t node : {1u, 3u}) {
    const auto& now = stage(d, 1).preplaced.at(NodeId(node));
    EXPECT_TRUE(std::includes(now.begin(), now.end(), before.at(NodeId(node)).begin(), before.at(NodeId(node)).end()));
    EXPECT_EQ(now.size(), 6u);
  }
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST(Preplacement, ANodeThatIsIdleTakesWhatAnotherWouldComeToLast) {
  Driver d(at(0.5));
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 8), result(reader(1, {0}, 8, 0))})));
  finish_map(d, 0, 0, 100, std::vector<std::uint64_t>(8, 10));
  const auto mine = stage(d, 1).preplaced.at(NodeId(1)), others = stage(d, 1).preplaced.at(NodeId(2));
  finish_map(d, 0, 1, 100, std::vector<std::uint64_t>(8, 10));
  for (std::size_t i = 0; i < mine.size(); ++i) {  // node 1 works, node 2 does not get on
    for (const auto& [attempt, node] : std::map(d.running)) {
      if (node != NodeId(1)) continue;
      ASSERT_TRUE(d.finish(attempt));
    }
  }
  EXPECT_TRUE(d.is_running(1, 1, *others.rbegin()));
  EXPECT_TRUE(d.is_running(1, 1, *others.begin()));
}

TEST(Preplacement, IsNotForReadersOfFilesNorForASingleNode) {
  Driver d(at(0.25));
  d.join(1, 4);
  d.submit(1);
  plan::Stage both = reader(1, {0}, 4, 0);
  both.branches.push_back({plan::BranchKind::splits, 2, {}, {}, {}});
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 4), result(both)})));
  finish_map(d, 0, 0, 100, {1, 1, 1, 1});
  d.join(2, 4);
  finish_map(d, 0, 1, 100, {1, 1, 1, 1});
  EXPECT_EQ(placed(d, 1), 0u);
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST(Preplacement, ASchedulerThatThrowsWhenAskedIsFoundOutAndTheJobGoesOn) {
  class Thrower final : public schedulers::Scheduler {
   public:
    std::string_view name() const override { return "thrower"; }
    void schedule(const schedulers::ClusterView& view, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
      for (const auto& [id, job] : view.jobs()) {
        for (StageId stage : std::set(job.runnable)) {
          while (!job.stage(stage)->pending.empty() && !view.free_nodes().empty())
            (void)decisions.launch({id, stage, *job.stage(stage)->pending.unconstrained().first()}, *view.free_nodes().begin(), "");
        }
      }
    }
    void preplace(const schedulers::ClusterView&, const schedulers::Preplaceable& what, schedulers::Decisions& decisions) override {
      (void)decisions.preplace({what.job, what.reader, 0}, NodeId(2), "before it breaks");
      throw std::runtime_error("no idea");
    }
  };
  Driver d(std::make_unique<Thrower>(), at(0.5));
  d.join(1, 4);
  d.join(2, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 4), result(reader(1, {0}, 4, 0))})));
  finish_map(d, 0, 0, 100, {1, 1, 1, 1});
  EXPECT_EQ(d.core.scheduler_faults().faults, 1u);
  EXPECT_EQ(stage(d, 1).tasks[0].preplaced, NodeId(2)) << "what it had decided before stands";
  d.drain();
  EXPECT_NE(d.last<ActionFinished>(), nullptr);
}

TEST(Preplacement, TellsOfNoOutputThatIsGone) {
  for (const std::uint32_t replicas : {1u, 2u}) {
    Driver d(at(0.05));
    for (std::uint32_t node : {1u, 2u, 3u}) d.join(node, 64);
    d.submit(1, 4, replicas);
    ASSERT_TRUE(d.extend(1, part(0, {source(0, 192, 6), result(reader(1, {0}, 6, 0))})));
    std::map<NodeId, std::vector<std::uint32_t>> maps;
    for (const auto& [attempt, node] : d.running) maps[node].push_back(attempt.task.index);
    const std::vector<std::uint64_t> bytes(6, 10);
    for (std::uint32_t i = 0; i < 4; ++i)
      for (auto& [node, of_node] : maps) finish_map(d, 0, of_node[i], 100, bytes);
    ASSERT_EQ(placed(d, 1), 6u);
    const std::uint32_t told_next = maps[NodeId(3)][4];  // in a portion with others
    finish_map(d, 0, told_next, 100, bytes);
    if (const auto* copy = d.last<ReplicateOutput>()) {
      ASSERT_TRUE(d.apply(OutputReplicated{{copy->node, copy->job, copy->shuffle, copy->output.map, copy->output.attempt}}));
    }
    const std::size_t before = d.commands.size();
    ASSERT_TRUE(d.lose(3));
    std::erase_if(d.running, [](const auto& entry) { return entry.second == NodeId(3); });
    finish_map(d, 0, maps[NodeId(1)][4], 100, bytes);
    finish_map(d, 0, maps[NodeId(1)][5], 100, bytes);
    finish_map(d, 0, maps[NodeId(1)][6], 100, bytes);
    std::size_t told = 0, moved = 0;
    for (std::size_t i = before; i < d.commands.size(); ++i) {
      const auto* prefetch = std::get_if<PrefetchShuffle>(&d.commands[i]);
      if (prefetch == nullptr) continue;
      for (const shuffle::MapOutput& output : prefetch->outputs) {
        EXPECT_NE(output.node, NodeId(3)) << output.map;
        ++told, moved += output.map == told_next ? 1 : 0;
      }
    }
    EXPECT_GT(told, 0u);
    EXPECT_EQ(moved > 0, replicas == 2) << "where its copy is";
    d.drain();
    EXPECT_NE(d.last<ActionFinished>(), nullptr);
  }
}

TEST(Status, ForetellsHowLargeAShuffleWillBe) {
  Driver d;
  d.join(1, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 3), result(reader(1, {0}, 3, 0))})));
  EXPECT_EQ(d.core.job(JobId(1), true)->stages[0].predicted_shuffle_bytes, 0u);
  finish_map(d, 0, 0, 100, {10, 20, 30});
  finish_map(d, 0, 1, 100, {10, 20, 30});
  EXPECT_EQ(d.core.job(JobId(1))->stages[0].predicted_shuffle_bytes, 0u) << "not asked for";
  const StageStatus told = d.core.job(JobId(1), true)->stages[0];
  EXPECT_EQ(told.shuffle_bytes, 120u);
  EXPECT_EQ(told.predicted_shuffle_bytes, 240u);
  EXPECT_EQ(told.predicted_largest_partition, 120u);
  finish_map(d, 0, 2, 100, {10, 20, 30});
  finish_map(d, 0, 3, 100, {10, 20, 30});
  EXPECT_EQ(d.core.job(JobId(1), true)->stages[0].predicted_shuffle_bytes, 0u) << "it is known";
}

TEST(Status, ForetellsPartitionsByTheSampleThatATaskTells) {
  Driver d;
  d.join(1, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 4), result(reader(1, {0}, 4, 0))})));
  finish_map(d, 0, 0, 100, {0, 100, 0, 0}, {1, 2, 1});  // of another number of partitions: no sample of this
  EXPECT_EQ(d.core.job(JobId(1), true)->stages[0].predicted_largest_partition, 400u);
  finish_map(d, 0, 1, 100, {100, 0, 0, 0}, {25, 25, 25, 25});
  EXPECT_EQ(d.core.job(JobId(1), true)->stages[0].predicted_shuffle_bytes, 400u);
  EXPECT_EQ(d.core.job(JobId(1), true)->stages[0].predicted_largest_partition, 100u);
}

}  // namespace
}  // namespace weft::master

// A cluster of two racks, for tests of ShuffleWatcher.
#pragma once

#include <string>
#include <vector>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::network_aware_rules {

inline const char* const kAtOnce = "shufflewatcher(mode=paper, window=0s)";
inline const Resources kMapSlot{.cpu = 1, .map_slots = 1}, kReduceSlot{.cpu = 1, .reduce_slots = 1};

/// Nodes 1 and 2 in rack1, 3 and 4 in rack2; all full, so that a test makes room where it asks.
struct Cluster {
  World world;
  Resources map{.cpu = 1}, reduce{.cpu = 1};

  explicit Cluster(const std::string& spec = kAtOnce, bool typed = false, const UplinkRate& uplink = {}) : world(spec) {
    for (std::uint32_t i = 1; i <= 4; ++i)
      world.node(i, fmt::format("h{}", i), i <= 2 ? "rack1" : "rack2",
                 typed ? Resources{.cpu = 2, .map_slots = 1, .reduce_slots = 1} : Resources{.cpu = 1}, {}, uplink);
    if (typed) map = kMapSlot, reduce = kReduceSlot;
  }
  /// Uplinks carry 100 at most, as far as is known.
  void crossing(double rate) {
    for (const std::uint32_t node : {1u, 3u}) {
      world.state.set_cross_rack(NodeId(node), {100, 0});
      world.state.set_cross_rack(NodeId(node), {rate, 0});
    }
  }
  StageInfo& maps(JobInfo& job, std::vector<std::vector<std::string>> hosts) {
    StageInfo& stage = world.stage(job, 0, std::move(hosts), map);
    stage.writes_shuffle = true;
    for (TaskInfo& task : stage.tasks) task.input_bytes = 100;
    return stage;
  }
  JobInfo& job(std::uint64_t id, const std::string& user, double ratio, double submitted = 0) {
    JobInfo& job = world.job(id, 0, Time(static_cast<std::int64_t>(submitted * 1e9)), user, "");
    if (ratio > 0) job.hints.shuffle_ratio = ratio;
    return job;
  }
  /// A job whose maps have ended on that node, with so many reduces.
  JobInfo& written(std::uint64_t id, const std::string& user, double ratio, std::uint32_t node, std::size_t count) {
    JobInfo& made = job(id, user, ratio);
    StageInfo& stage = maps(made, anywhere(1));
    stage.output = ShuffleSizes(1, static_cast<std::uint32_t>(count));
    EXPECT_TRUE(world.launch({made.id, StageId(0), 0}, NodeId(node), "test"));
    stage.output.add(0, NodeId(node), std::vector<std::uint64_t>(count, 100));
    world.finish({made.id, StageId(0), 0});
    world.stage(made, 1, anywhere(count), reduce, 0, {0});
    world.launched.clear();
    return made;
  }
  /// Nothing else runs there from now on.
  void fill(std::vector<std::uint32_t> nodes) {
    JobInfo& other = job(99, "z", 1);
    world.stage(other, 0, anywhere(nodes.size()));
    for (std::uint32_t i = 0; i < nodes.size(); ++i) ASSERT_TRUE(world.launch({other.id, StageId(0), i}, NodeId(nodes[i]), "test"));
    world.launched.clear();
  }
  /// "2.1" is stage 1 of job 2; "-" nothing.
  std::string asks(std::uint32_t node) {
    const std::size_t before = world.launched.size();
    world.beat(node);
    if (world.launched.size() == before) return "-";
    const TaskId& task = world.launched[before].task;
    return fmt::format("{}.{}", task.job.value(), task.stage.value());
  }
};

}  // namespace weft::schedulers::network_aware_rules

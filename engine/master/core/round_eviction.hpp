// Which rounds of prefetched blocks are deferred, because they do not fit into the nodes' memory: keeps the PrefetchBudget up to
// date with what was placed, predicted and read, and notifies the nodes of what it decides.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/master/core/context.hpp"
#include "engine/master/core/prefetch_budget.hpp"

namespace weft::master {

/// The first task of the stage that reads the shuffle at its own partition; nothing when none does, or when some tasks of the stage
/// read files, near which they belong.
std::optional<std::uint32_t> first_reader(const plan::Stage& reader, StageId input);
/// What a map writes for a partition, in the mean.
std::uint64_t mean_block_bytes(const schedulers::ShuffleSizes& sizes);

class RoundEviction {
 public:
  /// What the tasks that were placed on a node read, in the order in which the node has it: partitions, and the task that reads
  /// each.
  using PartitionsByNode = std::map<NodeId, std::vector<std::pair<std::uint32_t, StageId>>>;

  explicit RoundEviction(CoreContext& context) : context_(context) {}

  /// `bytes`: see PrefetchBudget::join.
  void node_joined(NodeId node, std::uint64_t bytes) { budget_.join(node, bytes); }
  void node_left(NodeId node) { budget_.leave(node); }
  void drop(JobId job) { budget_.drop(job); }
  void drop(JobId job, StageId input) { budget_.drop({job, input}); }

  /// Readers of the input were placed.
  void place(const JobRecord& job, StageRecord& input, const PartitionsByNode& partitions);
  /// A map of the input has ended. Sizes are predicted again when twice as many have as when they were last, and known when all
  /// have.
  void resize(const JobRecord& job, StageRecord& input);
  /// A task of the reader has ended.
  void read(const JobRecord& job, const StageRecord& reader, std::uint32_t task);
  /// At the end of an event: when something does not fit and enough time has passed since the last decision, decides which rounds
  /// are deferred. Emits PrefetchShuffle to each node for which that changed.
  void decide();

  PrefetchBudget::Standing standing(JobId job, StageId input) const { return budget_.standing({job, input}); }

 private:
  CoreContext& context_;
  PrefetchBudget budget_;
  std::optional<Time> decided_;  // last
};

}  // namespace weft::master

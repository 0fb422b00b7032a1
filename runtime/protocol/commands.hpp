// What the master commands a worker to do, as the core decides it and as it travels. The core fills in everything except the
// addresses at which nodes serve their blocks; the server adds these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "shuffle/store/task_shuffle.hpp"
#include "storage/split.hpp"

namespace weft::runtime::protocol {

/// Where a node serves its blocks.
struct NodeAddress {
  NodeId node;
  std::string name;
  std::string address;
  std::string rack;
};

/// What one task of a stage is to do: the part of the plan that travels with a launch.
struct TaskSpec {
  std::uint32_t branch = 0;
  std::uint32_t partition = 0;  // within the branch
  std::uint32_t output_partitions = 0;
  storage::SplitGroup splits;
  std::uint64_t fingerprint = 0;
  /// What of the branch's partitioned shuffles it reads; then its broadcast shuffles, with the number of all maps (masters of
  /// before these were listed send none of them).
  std::vector<shuffle::InputSlice> inputs;
  std::vector<std::string> variants{};  // attributes of the node for which its operators have functions: it runs those
  /// Attempts at the stage's tasks with smaller numbers count no more: they may have read other records.
  std::uint32_t first_attempt = 0;
};

enum class KillCause : std::uint8_t { preempted, making_way, job_over, lost_race };
constexpr KillCause last_of(KillCause) { return KillCause::lost_race; }

struct KillTask {
  NodeId node;
  AttemptId attempt;
  KillCause cause = KillCause::preempted;
  std::string reason;
};
/// By map. It may be long and goes to every node with a reader: these commands share it.
using OutputTable = std::shared_ptr<const std::vector<shuffle::MapOutput>>;
/// By output: for which partitions it has something. Of outputs past the end that is not known. Never null.
using WrittenTable = std::shared_ptr<const std::vector<shuffle::Written>>;
/// The table of a shuffle's outputs: of all, or with slow start of those that are there. It is sent to a node before the first
/// launch there that reads the shuffle, and again when it has changed. It replaces an earlier one.
struct ShuffleLocations {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  OutputTable outputs = std::make_shared<const std::vector<shuffle::MapOutput>>();
  std::uint32_t maps = 0;              // with slow start: how many there will be (ShuffleExtended); 0: these are all
  std::vector<NodeAddress> holders{};  // of the outputs
  WrittenTable written = std::make_shared<const std::vector<shuffle::Written>>();
};
/// Slow start: one more output of a shuffle of which the node has an incomplete table. It may replace one that was lost.
struct ShuffleExtended {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  shuffle::MapOutput output;
  std::vector<NodeAddress> holders{};  // of the output
  shuffle::Written written{};          // the partitions that it has something of
};
/// Readers of the shuffle were placed on the node, or there are more outputs to prefetch. A hint: when its tasks start they wait
/// for fetches that are under way, and for nothing more.
struct PrefetchShuffle {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  std::optional<std::vector<std::uint32_t>> partitions;  // all that are to be read there, in order; unset: unchanged
  std::vector<shuffle::MapOutput> outputs;               // that this node was not sent before
  std::uint64_t block_bytes = 0;                         // what a map writes for a partition, in the mean
  bool complete = false;                                 // there are no more maps
  /// Of the partitions: all that wait out of memory, while the others are wanted in it; unset: unchanged.
  std::optional<std::vector<std::uint32_t>> deferred{};
  std::vector<NodeAddress> holders{};  // of the outputs
  /// Of all shuffles: how many fetches from other racks may be under way at a time to prefetch; unset: unchanged.
  std::optional<std::uint32_t> far{};
};
/// The node is to make a replica of that output from where it is, and to report how that ended (ReplicaEnded).
struct ReplicateOutput {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  shuffle::MapOutput output;
  NodeAddress source{};
};
struct ReleaseShuffle {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
};
/// The job is over: end its executors on the node, drop its segments.
struct ReleaseJob {
  NodeId node;
  JobId job;
};
/// To all other nodes: the node is lost (perhaps it was only silent for too long), and nothing from it is to be waited for. It may
/// come back as another node.
struct NodeLost {
  NodeId node;
  std::string reason;
  std::string address{};  // where it served its blocks
};

/// A replica of a map output, on the node that was commanded to make it (ReplicateOutput).
struct OutputReplica {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  std::uint32_t map = 0, attempt = 0;
};

/// A map output in a worker's store, or a replica of one.
struct HeldOutput {
  JobId job;
  ShuffleId shuffle;
  std::uint32_t map = 0, attempt = 0;
};

}  // namespace weft::runtime::protocol

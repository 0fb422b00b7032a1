// What the master commands a worker to do, as the core decides it and as it travels: the core fills in everything but where nodes
// serve their blocks, which the server knows.
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
  std::vector<shuffle::InputSlice> inputs;  // the branch's partitioned shuffles: what of them it reads
  std::vector<std::string> variants{};      // attributes of the node for which its operators have functions: it runs those
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
/// For which partitions they have something: by output; missing at the end: not known of these. Never null.
using WrittenTable = std::shared_ptr<const std::vector<shuffle::Written>>;
/// The complete table of a finished shuffle, or with slow start of what is there (sent to a node before the first launch there that
/// reads it, and again when it changed). It replaces an earlier one.
struct ShuffleLocations {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  OutputTable outputs;
  std::uint32_t maps = 0;              // with slow start: how many there will be (ShuffleExtended); 0: these are all
  std::vector<NodeAddress> holders{};  // of the outputs
  WrittenTable written = std::make_shared<const std::vector<shuffle::Written>>();
};
/// One more output of a shuffle that the node was given an incomplete table of (slow start), also in place of one that was lost.
struct ShuffleExtended {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  shuffle::MapOutput output;
  std::vector<NodeAddress> holders{};  // of the output
  shuffle::Written written{};          // the partitions that it has something of
};
/// Readers of the shuffle were placed on the node, or there is more for it to bring. A hint: its tasks wait for what is under way
/// when they start, and for nothing more.
struct PrefetchShuffle {
  NodeId node;
  JobId job;
  ShuffleId shuffle;
  std::optional<std::vector<std::uint32_t>> partitions;  // all that are to be read there, in that order; without: as said before
  std::vector<shuffle::MapOutput> outputs;               // not told this node before
  std::uint64_t block_bytes = 0;                         // what a map writes for a partition, in the mean
  bool complete = false;                                 // there are no more maps
  /// Of the partitions: all that are to wait out of memory, the others being wanted in it; without: as said before.
  std::optional<std::vector<std::uint32_t>> deferred{};
  std::vector<NodeAddress> holders{};  // of the outputs
  /// How many fetches from other racks the node may prefetch with at a time, for all shuffles; without: as said before.
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
/// For all others: the node is no more (also when it was only silent for too long), and nobody need wait for what it was to give.
/// It may come back as another one.
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

}  // namespace weft::runtime::protocol

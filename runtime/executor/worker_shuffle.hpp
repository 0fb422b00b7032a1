// The shuffle as a task of an executor sees it: the stores of its machine's workers by mapping, other nodes' blocks through its
// worker.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/executor/worker_link.hpp"

namespace weft::runtime {

class WorkerShuffle final : public shuffle::TaskShuffle {
 public:
  /// `segment`: what the task's segment may take of memory, and where the rest goes. `memory_bytes`: the task's budget.
  WorkerShuffle(WorkerLink& worker, const AttemptId& attempt, shuffle::SegmentMemory segment, std::uint64_t memory_bytes,
                const std::atomic<bool>& stop)
      : worker_(worker), attempt_(attempt), segment_(std::move(segment)), memory_bytes_(memory_bytes), stop_(stop) {}

  /// The writer adds to times(): it must not outlive this object.
  Result<std::unique_ptr<shuffle::SegmentWriter>> create_segment(std::uint32_t partitions) override;
  Result<void> commit(shuffle::SealedSegment segment) override;
  Result<void> read(ShuffleId shuffle, std::uint32_t partition, shuffle::MapRange maps,
                    const shuffle::BlockVisitor& visit) override;
  std::optional<shuffle::FetchFailure> fetch_failure() const override { return failure_; }

  shuffle::ShuffleTimes times() const { return times_; }
  /// Of the committed segment.
  const std::vector<shuffle::PartitionSize>& committed() const { return committed_; }

 private:
  /// The fetched blocks of one node: those of a run of its maps, visited in order.
  struct Remote;
  /// The blocks of one map within a segment that was brought before the task began.
  struct Brought {
    std::shared_ptr<const shuffle::Segment> blocks;
    std::uint32_t position = 0;
  };
  using Window = std::span<const shuffle::MapOutput>;
  /// The outputs of a window that are still to be read.
  struct Rest {
    Window began;                       // where they were when the task came to the window
    std::span<shuffle::MapOutput> now;  // where they are read
  };
  /// By the nodes of their maps, when the task came to the window and now: what moves does not get between others.
  using Remotes = std::map<std::pair<NodeId, NodeId>, Remote>;

  Result<void> read_window(ShuffleId shuffle, std::uint32_t partition, Window window, const shuffle::BlockVisitor& visit);
  Result<void> read_local(ShuffleId shuffle, std::uint32_t partition, const shuffle::MapOutput& map,
                          const std::shared_ptr<const shuffle::Segment>& segment, const shuffle::BlockVisitor& visit);
  Result<void> read_remote(ShuffleId shuffle, std::uint32_t partition, Rest rest, Remotes& remotes,
                           const shuffle::BlockVisitor& visit);
  /// The map's blocks when they were brought already; each map once.
  std::optional<Brought> brought(ShuffleId shuffle, std::uint32_t partition, const shuffle::MapOutput& map);
  /// Fetches the next blocks of the node that has the first output of the rest. With `may_follow`, when that node cannot be reached
  /// and the output has moved, only changes where it and others are read.
  Result<void> refill(ShuffleId shuffle, std::uint32_t partition, Rest rest, Remote& remote, bool may_follow);
  /// True when the first output is read elsewhere from now on, and others of its node as well, as far as they have moved.
  bool follow(ShuffleId shuffle, Rest rest);
  /// Records the lost map output and returns Code::unavailable.
  Result<void> lost(ShuffleId shuffle, const shuffle::MapOutput& map, std::string why);

  WorkerLink& worker_;
  AttemptId attempt_;
  shuffle::SegmentMemory segment_;
  const std::uint64_t memory_bytes_;
  const std::atomic<bool>& stop_;
  std::vector<shuffle::PartitionSize> committed_;
  std::optional<shuffle::FetchFailure> failure_;
  shuffle::ShuffleTimes times_;
  std::size_t maps_per_fetch_ = 1;                                      // adapted to the size of the blocks
  bool took_brought_ = false;                                           // of the partition being read
  std::map<std::pair<std::uint32_t, std::uint32_t>, Brought> brought_;  // by map and attempt
};

}  // namespace weft::runtime

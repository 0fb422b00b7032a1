// What a running task sees of the shuffle: one output segment to fill, and partitions of finished shuffles to read.
// The embedded engine reads its own Store (local_task_shuffle.hpp), an executor asks its worker over the Unix socket
// (runtime/executor/worker_shuffle.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/block.hpp"
#include "shuffle/store/known_outputs.hpp"

namespace weft::shuffle {

/// A map output that could not be read. The master recomputes it by lineage.
struct FetchFailure {
  ShuffleId shuffle;
  std::uint32_t map = 0;
  std::uint32_t map_attempt = 0;
  NodeId node;
};

/// What an attempt spent on moving map outputs, all else aside.
struct ShuffleTimes {
  Duration read{0};   // until it had the blocks that it requested
  Duration write{0};  // storing its own output
  friend bool operator==(const ShuffleTimes&, const ShuffleTimes&) = default;
};

/// Adjacent partitions of a shuffle.
struct PartitionRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// What a task is to read of a shuffle that it reads at its own partition.
struct InputSlice {
  ShuffleId shuffle;
  MapRange maps{};
  std::uint64_t bytes = 0;       // about
  std::uint32_t partitions = 1;  // adjacent ones, from its own on
};

/// Returning an error ends the read with it.
using BlockVisitor = std::function<Result<void>(const Block&)>;

/// Verifies and visits all extents of one partition of a segment of this machine's store. lost(error) makes the error of a damaged
/// one.
template <class Lost>
Result<void> visit_extents(const std::shared_ptr<const Segment>& segment, std::uint32_t partition, const BlockVisitor& visit,
                           Lost&& lost) {
  Block block;
  const bool on_disk = segment->home() == SegmentHome::file;
  if (!on_disk) block.owner = segment;  // the store accounts for it
  for (const Extent& extent : segment->extents(partition)) {
    auto bytes = verified(*segment, extent);
    if (!bytes) return lost(std::move(bytes).error());
    block.bytes = *bytes;
    block.records = extent.records;
    WEFT_TRY(visit(block));
    if (on_disk) segment->forget(extent);
  }
  return {};
}

/// Belongs to one attempt and its thread; blocking, every wait bounded. Remembers for the attempt's report what it read and
/// committed.
class TaskShuffle {
 public:
  virtual ~TaskShuffle() = default;

  /// The writer for this attempt's output; memory or disk is the store's choice.
  virtual Result<std::unique_ptr<SegmentWriter>> create_segment(std::uint32_t partitions) = 0;
  /// Hands the sealed segment to the store under this attempt's id; the task may end right after.
  Result<void> commit(SealedSegment segment);
  /// Visits all blocks of `partitions` that these maps wrote: partition after partition, and of each map after map, in ascending
  /// order. On a lost or corrupt block the error is Code::unavailable and fetch_failure() names it. resource_exhausted: this
  /// machine is short of descriptors or memory, and nothing is known to be lost.
  Result<void> read(ShuffleId shuffle, PartitionRange partitions, MapRange maps, const BlockVisitor& visit);
  virtual std::optional<FetchFailure> fetch_failure() const = 0;

  /// The sizes of the partitions of the committed segment; empty: none was. To be called once.
  std::vector<PartitionSize> take_output() { return std::move(output_); }
  /// Bytes of all blocks that were visited.
  std::uint64_t read_bytes() const { return read_bytes_; }
  /// All zero where they are not measured.
  const ShuffleTimes& times() const { return times_; }

 protected:
  ShuffleTimes times_;

 private:
  virtual Result<void> store(SealedSegment segment) = 0;
  virtual Result<void> visit_blocks(ShuffleId shuffle, PartitionRange partitions, MapRange maps, const BlockVisitor& visit) = 0;

  std::vector<PartitionSize> output_;
  std::uint64_t read_bytes_ = 0;
};

}  // namespace weft::shuffle

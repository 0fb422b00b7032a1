// What a running task sees of the shuffle: one output segment to fill, and partitions of finished shuffles to read.
// Two implementations: the embedded engine reads its own Store; an executor asks its worker over the Unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/lean/algorithm.hpp"
#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/block.hpp"
#include "shuffle/store/written.hpp"

namespace weft::shuffle {

/// Which map output could not be had. The master recomputes it by lineage.
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

/// Where the output of one map task is.
struct MapOutput {
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  NodeId node;
};

/// Some of the maps of a shuffle: all of them unless said otherwise.
struct MapRange {
  std::uint32_t first = 0;
  std::uint32_t end = UINT32_MAX;
  friend bool operator==(const MapRange&, const MapRange&) = default;
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
  std::uint64_t bytes = 0;       // about so many
  std::uint32_t partitions = 1;  // adjacent ones, from its own on
};

/// The outputs of the maps in `range`, of all outputs, ascending by map.
inline std::span<const MapOutput> in_range(std::span<const MapOutput> outputs, MapRange range) {
  const auto before = [](const MapOutput& output, std::uint32_t map) { return output.map < map; };
  const auto first = std::lower_bound(outputs.begin(), outputs.end(), range.first, before);
  return {first, std::lower_bound(first, outputs.end(), range.end, before)};
}

/// The outputs of a shuffle's maps that are there, ascending by map.
struct KnownOutputs {
  std::vector<MapOutput> outputs;
  std::uint32_t maps = 0;          // of a shuffle whose further outputs will be said: how many there will be; 0: these are all
  std::vector<Written> written{};  // by output; missing at the end: not known of these
  std::shared_ptr<const WrittenIndex> index{};  // of `written`, where these are all (make_index())

  /// Null: it is not there.
  const MapOutput* find(std::uint32_t map) const {
    const auto found = in_range(outputs, {map, map + 1});
    return found.empty() ? nullptr : &found.front();
  }
  /// Whether the output at that position may have something of the partition.
  bool may_have(std::size_t position, std::uint32_t partition) const {
    return position >= written.size() || shuffle::may_have(written[position], partition);
  }
  /// The outputs of these maps that may have something of the partition, ascending.
  std::vector<MapOutput> with(std::uint32_t partition, MapRange range) const;
  /// In place of an earlier output of its map.
  void put(const MapOutput& output, Written wrote = {});
  /// Those of a node that is gone.
  void forget(NodeId node);
  /// Once all are there and nothing changes any more: with() looks at nothing that is empty.
  void make_index() { index = std::make_shared<const WrittenIndex>(written); }
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

/// Belongs to one attempt and its thread; blocking, every wait bounded.
class TaskShuffle {
 public:
  virtual ~TaskShuffle() = default;

  /// The writer for this attempt's output; memory or disk is the store's choice.
  virtual Result<std::unique_ptr<SegmentWriter>> create_segment(std::uint32_t partitions) = 0;
  /// Hands the sealed segment to the store under this attempt's id; the task may end right after.
  virtual Result<void> commit(SealedSegment segment) = 0;
  /// Visits all blocks of `partitions` that these maps wrote: partition after partition, and of each map after map, in ascending
  /// order. On a lost or corrupt block the error is Code::unavailable and fetch_failure() tells which.
  virtual Result<void> read(ShuffleId shuffle, PartitionRange partitions, MapRange maps, const BlockVisitor& visit) = 0;
  virtual std::optional<FetchFailure> fetch_failure() const = 0;
};

}  // namespace weft::shuffle

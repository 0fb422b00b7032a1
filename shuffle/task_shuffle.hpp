// What a running task sees of the shuffle: one output segment to fill, and partitions of finished shuffles to read.
// Two implementations: the embedded engine reads its own Store; an executor asks its worker over the Unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "shuffle/segment.hpp"

namespace weft::shuffle {

/// Which map output could not be had. The master recomputes it by lineage.
struct FetchFailure {
  ShuffleId shuffle;
  std::uint32_t map = 0;
  std::uint32_t map_attempt = 0;
  NodeId node;
};

/// Where the output of one map task is.
struct MapOutput {
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  NodeId node;
};

/// Visits one extent's verified bytes; the view is valid during the call only. Returning an error ends the read with it.
using ExtentVisitor = std::function<Result<void>(ByteView bytes, std::uint32_t records)>;

/// Belongs to one attempt and its thread; blocking, every wait bounded.
class TaskShuffle {
 public:
  virtual ~TaskShuffle() = default;

  /// The writer for this attempt's output; memory or disk is the store's choice.
  virtual Result<std::unique_ptr<SegmentWriter>> create_segment(std::uint32_t partitions) = 0;
  /// Hands the sealed segment to the store under this attempt's id; the task may end right after.
  virtual Result<void> commit(SealedSegment segment) = 0;
  /// Visits all extents of `partition`, map after map in ascending order. On a lost or corrupt block the error is
  /// Code::unavailable and fetch_failure() tells which.
  virtual Result<void> read(ShuffleId shuffle, std::uint32_t partition, const ExtentVisitor& visit) = 0;
  virtual std::optional<FetchFailure> fetch_failure() const = 0;
};

}  // namespace weft::shuffle

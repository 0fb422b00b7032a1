// The embedded engine's TaskShuffle: all map outputs are in one Store of this process.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/ids.hpp"
#include "shuffle/store/mode.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::shuffle {

/// The map outputs of a shuffle of the attempt's job; null when the shuffle is not known. With a map: waits until its output is
/// there, and null when the task is to stop. Called on the task's thread.
using MapOutputLookup = std::function<std::shared_ptr<const KnownOutputs>(ShuffleId, std::optional<std::uint32_t> map)>;

class LocalTaskShuffle final : public TaskShuffle {
 public:
  /// `store` must outlive this object.
  LocalTaskShuffle(Store& store, const AttemptId& attempt, MapOutputLookup lookup, Mode mode = Mode::memory)
      : store_(store), attempt_(attempt), lookup_(std::move(lookup)), mode_(mode) {}

  Result<std::unique_ptr<SegmentWriter>> create_segment(std::uint32_t partitions) override;
  std::optional<FetchFailure> fetch_failure() const override { return failure_; }

 private:
  Result<void> store(SealedSegment segment) override;
  Result<void> visit_blocks(ShuffleId shuffle, PartitionRange partitions, MapRange maps, const BlockVisitor& visit) override;
  /// Of a shuffle that is not complete: each output when it is there.
  Result<void> read_early(ShuffleId shuffle, std::uint32_t partition, MapRange maps, const BlockVisitor& visit);
  Result<void> read_map(ShuffleId shuffle, const MapOutput& output, std::uint32_t partition, const BlockVisitor& visit);
  tl::unexpected<Error> lost(ShuffleId shuffle, const MapOutput& output, Error why);

  Store& store_;
  AttemptId attempt_;
  MapOutputLookup lookup_;
  const Mode mode_;
  SegmentRoom room_;
  std::optional<FetchFailure> failure_;
};

}  // namespace weft::shuffle

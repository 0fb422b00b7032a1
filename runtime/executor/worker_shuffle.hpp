// The shuffle as a task of an executor sees it: its worker brings blocks part by part (shuffle/read/partition_reader.hpp), the task
// visits them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor/worker_link.hpp"

namespace weft::runtime {

class WorkerShuffle final : public shuffle::TaskShuffle {
 public:
  /// `segment`: what the task's segment may take of memory, and where the rest goes. `memory_bytes`: the task's budget.
  WorkerShuffle(WorkerLink& worker, const AttemptId& attempt, shuffle::SegmentMemory segment, std::uint64_t memory_bytes,
                const std::atomic<bool>& stop)
      : worker_(worker), attempt_(attempt), segment_(std::move(segment)), memory_bytes_(memory_bytes), stop_(stop) {}

  Result<std::unique_ptr<shuffle::SegmentWriter>> create_segment(std::uint32_t partitions) override;
  std::optional<shuffle::FetchFailure> fetch_failure() const override { return failure_; }

 private:
  using SegmentPtr = std::shared_ptr<const shuffle::Segment>;
  /// The blocks of one map that came and were not visited yet.
  struct Pending {
    shuffle::MapOutput output;
    shuffle::BlockSource::Kind kind = shuffle::BlockSource::Kind::segment;
    SegmentPtr blocks;
    std::uint32_t position = 0;  // of the map's blocks, unless they are a whole segment
  };
  using Pendings = std::map<std::uint32_t, Pending>;  // by map

  Result<void> store(shuffle::SealedSegment segment) override;
  Result<void> visit_blocks(ShuffleId shuffle, shuffle::PartitionRange partitions, shuffle::MapRange maps,
                            const shuffle::BlockVisitor& visit) override;
  /// The next part of a read, its blocks added to `pending`.
  Result<shuffle::ReadPart> next_part(protocol::ReadRequest& request, std::uint32_t from_map, Pendings& pending);
  Result<void> take_source(ShuffleId shuffle, const shuffle::BlockSource& source, std::uint32_t from_map, SegmentPtr blocks,
                           Pendings& pending);
  Result<void> visit_map(ShuffleId shuffle, std::uint32_t partition, const Pending& map, const shuffle::BlockVisitor& visit);
  /// Records the lost map output and returns Code::unavailable.
  tl::unexpected<Error> lost(ShuffleId shuffle, const shuffle::MapOutput& map, std::string why);

  WorkerLink& worker_;
  AttemptId attempt_;
  shuffle::SegmentMemory segment_;
  const std::uint64_t memory_bytes_;
  const std::atomic<bool>& stop_;
  std::uint32_t reads_ = 0;  // begun so far
  std::optional<shuffle::FetchFailure> failure_;
};

}  // namespace weft::runtime

// The shuffle store of one worker: sealed segments by (job, shuffle, map, attempt), memory first. When the memory
// budget is exceeded segments go to files in the spill directory, as they are, and are read by mapping: first those of the job that
// was submitted last, in it the larger map ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/segment_room.hpp"

namespace weft::shuffle {

struct SegmentKey {
  JobId job;
  ShuffleId shuffle;
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const SegmentKey&, const SegmentKey&) = default;
};

/// The output of one attempt of a map, where its shuffle is known.
struct MapAttempt {
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const MapAttempt&, const MapAttempt&) = default;
};

struct StoreStats {
  std::uint64_t segments = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // for segments being written
  std::uint64_t disk_bytes = 0;
  std::uint64_t evicted_bytes = 0;  // since start
};

/// What a store may hold at a time. Segments beyond it are still served: blocks of those without a descriptor are copied for
/// readers that would map them, and those that are not mapped lie in files with names.
struct StoreLimits {
  std::size_t descriptors = 0;    // 0: half of what the process may open
  std::size_t mappings = 48'000;  // the system allows a process 65,530
};

/// Any thread.
class Store : public RoomGiver {
 public:
  /// `directory` is created; leftovers of an earlier store in it are removed. `writers`: segments that are written at a time.
  static Result<std::unique_ptr<Store>> open(std::string directory, std::uint64_t memory_budget, std::uint32_t writers = 1,
                                             const StoreLimits& limits = {});
  ~Store() override = default;  // removes its files

  /// Memory for the next segment of a shuffle: what its segments took so far, or a writer's share of what is left. What is set
  /// aside and what is stored never exceed the budget together, with one exception: a job with less than a sixteenth of the budget
  /// gets its room also from a full store, and segments of larger jobs are moved to disk for it. The store must outlive the room.
  virtual SegmentRoom reserve(JobId job, ShuffleId shuffle) = 0;
  /// True when putting a segment may have to wait for others to be moved to disk.
  virtual bool prefers_disk() const = 0;
  virtual const std::string& directory() const = 0;
  /// Memory for segments of this process; what released ones had is used again.
  virtual const std::shared_ptr<PagePool>& pages() const = 0;
  virtual Result<void> put(const SegmentKey& key, SealedSegment segment) = 0;
  /// not_found when there is none. It may come without a descriptor.
  virtual Result<std::shared_ptr<const Segment>> get(const SegmentKey& key) const = 0;
  virtual void release(const SegmentKey& key) = 0;
  virtual void release(JobId job, ShuffleId shuffle) = 0;
  virtual void release(JobId job) = 0;
  virtual StoreStats stats() const = 0;
  /// All that it holds, in ascending order; a segment is there whole or not at all.
  virtual std::vector<SegmentKey> segments() const = 0;
};

}  // namespace weft::shuffle

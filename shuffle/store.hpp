// The shuffle store of one worker: sealed segments by (job, shuffle, map, attempt), memory first. When the memory
// budget is exceeded the oldest segments go to files in the spill directory, and come back by mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "shuffle/segment.hpp"

namespace weft::shuffle {

struct SegmentKey {
  JobId job;
  ShuffleId shuffle;
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const SegmentKey&, const SegmentKey&) = default;
};

struct StoreStats {
  std::uint64_t segments = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t evicted_bytes = 0;  // since start
};

/// Any thread.
class Store {
 public:
  /// `directory` is created; leftovers of an earlier store in it are removed.
  static Result<std::unique_ptr<Store>> open(std::string directory, std::uint64_t memory_budget);
  virtual ~Store() = default;  // removes its files

  /// True when a new segment should be written to disk rather than memory.
  virtual bool prefers_disk() const = 0;
  virtual const std::string& directory() const = 0;
  virtual Result<void> put(const SegmentKey& key, SealedSegment segment) = 0;
  /// not_found when there is none.
  virtual Result<std::shared_ptr<const Segment>> get(const SegmentKey& key) const = 0;
  virtual void release(JobId job, ShuffleId shuffle) = 0;
  virtual void release(JobId job) = 0;
  virtual StoreStats stats() const = 0;
};

}  // namespace weft::shuffle

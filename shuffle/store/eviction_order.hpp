// Which segment of a full store leaves memory next (SCache, section 3.4: by the priority of the job, larger task ids first).
// Private to the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "shuffle/store/store.hpp"

namespace weft::shuffle {

/// The segments that are in memory. A job with less than a sixteenth of the budget is small: moving it would give little room, and
/// cost it the disk that it need never touch. One thread at a time.
class EvictionOrder {
 public:
  explicit EvictionOrder(std::uint64_t budget) : small_(budget / 16) {}

  void add(const SegmentKey& key, std::uint64_t bytes);
  /// Removes a segment that was added with that many bytes.
  void remove(const SegmentKey& key, std::uint64_t bytes);
  std::size_t size() const { return segments_; }

  /// The last map of the last shuffle of the job that was submitted last (the largest id) and is not small, or of a small one when
  /// there is no other. There must be a segment.
  const SegmentKey& next() const;
  /// Whether the job would be small with `more` bytes more.
  bool is_small(JobId job, std::uint64_t more = 0) const;
  std::uint64_t small_bytes() const { return small_; }
  /// Of all jobs that are not small.
  std::uint64_t large_bytes() const;

 private:
  struct Job {
    std::uint64_t bytes = 0;
    std::set<SegmentKey> segments;
  };
  const std::uint64_t small_;
  std::map<JobId, Job> jobs_;  // with segments
  std::size_t segments_ = 0;
};

}  // namespace weft::shuffle

#include "shuffle/store/eviction_order.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace weft::shuffle {

void EvictionOrder::add(const SegmentKey& key, std::uint64_t bytes) {
  Job& job = jobs_[key.job];
  job.bytes += bytes;
  job.segments.insert(key);
  ++segments_;
}

void EvictionOrder::remove(const SegmentKey& key, std::uint64_t bytes) {
  const auto job = jobs_.find(key.job);
  WEFT_ASSERT(job != jobs_.end() && job->second.segments.erase(key) == 1);
  job->second.bytes -= bytes;
  if (job->second.segments.empty()) jobs_.erase(job);
  --segments_;
}

const SegmentKey& EvictionOrder::next() const {
  WEFT_ASSERT(segments_ > 0);
  auto job = std::find_if(jobs_.rbegin(), jobs_.rend(), [this](const auto& entry) { return !is_small(entry.first); });
  if (job == jobs_.rend()) job = jobs_.rbegin();
  return *job->second.segments.rbegin();
}

bool EvictionOrder::is_small(JobId job, std::uint64_t more) const {
  const auto found = jobs_.find(job);
  return (found == jobs_.end() ? 0 : found->second.bytes) + more < small_;
}

std::uint64_t EvictionOrder::large_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [id, job] : jobs_) sum += is_small(id) ? 0 : job.bytes;
  return sum;
}

}  // namespace weft::shuffle

#include "shuffle/store/store_memory.hpp"

#include <algorithm>

namespace weft::shuffle {

namespace {
constexpr std::uint64_t kSmallestRoom = 64u << 10;
}

StoreMemory::StoreMemory(std::uint64_t budget, std::uint32_t writers)
    : budget_(budget), writers_(std::max<std::uint32_t>(writers, 1)), order_(budget) {}

std::uint64_t StoreMemory::left() const {
  const std::uint64_t taken = bytes_ + reservations_.bytes();
  return budget_ > taken ? budget_ - taken : 0;
}

StoreMemory::Grant StoreMemory::set_aside(JobId job, std::uint64_t bytes, bool others_go) {
  reservations_.add(job, bytes, others_go);
  return {bytes, others_go};
}

StoreMemory::Grant StoreMemory::reserve(JobId job, ShuffleId shuffle) {
  const std::uint64_t likely = reservations_.likely_segment(job, shuffle);  // better not begun in memory than moved halfway
  const std::uint64_t wanted = std::max(likely, left() / (2 * std::uint64_t{writers_}));
  if (wanted <= left() && wanted >= kSmallestRoom) return set_aside(job, wanted, false);
  return reserve_of_others(job, likely);
}

StoreMemory::Grant StoreMemory::reserve_exactly(JobId job, std::uint64_t bytes) {
  return bytes <= left() ? set_aside(job, bytes, false) : Grant();
}

/// For a small job: what large ones have makes way.
StoreMemory::Grant StoreMemory::reserve_of_others(JobId job, std::uint64_t likely) {
  const std::uint64_t share = order_.small_bytes() / (2 * std::uint64_t{writers_});
  const std::uint64_t wanted = std::max(likely > 0 ? likely : share, kSmallestRoom);
  if (!order_.is_small(job, reservations_.bytes_of(job) + wanted)) return {};
  if (order_.large_bytes() < reservations_.overdrawn() + wanted) return {};
  return set_aside(job, wanted, true);
}

void StoreMemory::came(const SegmentKey& key, std::uint64_t bytes, bool memory) {
  reservations_.segment_came(key.job, key.shuffle, bytes);
  if (!memory) return;
  order_.add(key, bytes);
  bytes_ += bytes;
}

void StoreMemory::went(const SegmentKey& key, std::uint64_t bytes, bool memory) {
  reservations_.segment_went(key.job, key.shuffle, bytes);
  if (memory) moved(key, bytes);
}

void StoreMemory::moved(const SegmentKey& key, std::uint64_t bytes) {
  order_.remove(key, bytes);
  bytes_ -= bytes;
}

bool StoreMemory::over_budget() const {
  if (order_.size() == 0) return false;
  if (bytes_ > budget_) return true;
  return reservations_.overdrawn() > 0 && bytes_ + reservations_.bytes() > budget_ && !order_.is_small(order_.next().job);
}

}  // namespace weft::shuffle

#include "base/quantile_sketch.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft {

namespace {

constexpr unsigned kBits = 5;                                // a power of two has 2^kBits buckets
constexpr std::uint64_t kExact = std::uint64_t{2} << kBits;  // numbers below have buckets of their own

std::uint16_t bucket_of(std::uint64_t value) {
  if (value < kExact) return static_cast<std::uint16_t>(value);
  const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
  return static_cast<std::uint16_t>((std::uint64_t{shift} << kBits) + (value >> shift));
}

/// The number in the middle of a bucket: it is nowhere further than half a bucket away.
std::uint64_t middle_of(std::uint16_t bucket) {
  if (bucket < kExact) return bucket;
  const unsigned shift = (bucket >> kBits) - 1u;
  const std::uint64_t first = std::uint64_t{bucket - (shift << kBits)} << shift;
  return first + (std::uint64_t{1} << shift) / 2;
}

}  // namespace

void QuantileSketch::add(std::uint64_t value) {
  const std::uint16_t index = bucket_of(value);
  const auto before = [](const Bucket& bucket, std::uint16_t other) { return bucket.index < other; };
  auto at = std::lower_bound(buckets_.begin(), buckets_.end(), index, before);
  if (at == buckets_.end() || at->index != index) at = buckets_.insert(at, {index, 0});
  if (at->count < std::numeric_limits<std::uint32_t>::max()) ++at->count;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  ++count_;
  if (__builtin_add_overflow(total_, value, &total_)) total_ = std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t QuantileSketch::quantile(unsigned percent) const {
  const std::uint64_t rank = (count_ * percent + 99) / 100;  // from 1 on
  std::uint64_t passed = 0;
  for (const Bucket& bucket : buckets_) {
    passed += bucket.count;
    if (passed >= rank) return std::clamp(middle_of(bucket.index), min_, max_);
  }
  return max_;
}

Distribution QuantileSketch::distribution() const { return {total_, min_, quantile(50), quantile(95), max_}; }

}  // namespace weft

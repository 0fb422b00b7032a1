// Quantiles of many numbers in little memory: counts of numbers by logarithmic buckets.
//
// A quantile is that of nearest rank, at most 1/64 (1.6 %) of itself away from the number that a sorted list has there; numbers
// below 64 and the smallest and the largest are exact. A power of two has 32 buckets, so a sketch never has more than 1,920 of
// eight bytes each, however many numbers there are, and 32 for each doubling between the smallest and the largest that really
// occur. All arithmetic is of integers: the same numbers give the same quantiles, in whatever order they come.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// The summary of the numbers. All 0 when there are none.
struct Distribution {
  std::uint64_t total = 0;  // of all together; stays at the largest number that there is
  std::uint64_t min = 0, median = 0, p95 = 0, max = 0;
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// One thread. Takes time for a search among the buckets in use.
class QuantileSketch {
 public:
  void add(std::uint64_t value);
  std::uint64_t count() const { return count_; }
  /// The smallest number that at least `percent` of them (1 to 100) do not exceed; 0 when there are none.
  std::uint64_t quantile(unsigned percent) const;
  Distribution distribution() const;

 private:
  struct Bucket {
    std::uint16_t index;
    std::uint32_t count;
  };

  std::vector<Bucket> buckets_;  // that numbers are in, ascending
  std::uint64_t count_ = 0, total_ = 0, min_ = 0, max_ = 0;
};

}  // namespace weft

// Pseudo-random numbers for the generators: fast, the same everywhere, seeded.
#pragma once

#include <cstdint>

namespace weft::bench {

/// A bijection of 64-bit numbers that scatters neighbours (the finaliser of SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
inline std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(scatter(seed + 1)) {}
  std::uint64_t next() { return scatter(state_ += 0x9E3779B97F4A7C15ULL); }
  /// Below `bound`, which is less than 2^32.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace weft::bench

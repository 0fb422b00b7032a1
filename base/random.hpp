// A small seeded generator (xoshiro256**, Blackman and Vigna 2018). The same seed gives the same numbers on every machine, which
// the distributions of <random> don't promise. Always passed as a parameter; there is no global one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/assert.hpp"

namespace weft {

/// A generator that satisfies UniformRandomBitGenerator. Not thread-safe.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit constexpr Random(std::uint64_t seed) {
    for (auto& word : state_) word = split_mix(seed);
  }

  /// Makes the `stream`-th of many independent generators of one seed.
  constexpr Random(std::uint64_t seed, std::uint64_t stream) : Random(seed ^ (stream + 1) * 0xd1342543de82ef95ULL) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  constexpr result_type operator()() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// Returns a number uniform in [0, bound), unbiased (Lemire 2019). `bound` must not be 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    WEFT_ASSERT(bound != 0);
    auto product = widen((*this)(), bound);
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) product = widen((*this)(), bound);
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Returns a number uniform in [low, high], both included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    WEFT_ASSERT(low <= high);
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = width == max() ? (*this)() : below(width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
  }

  /// Returns a number uniform in [0, 1) with 53 bits.
  constexpr double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  /// Returns true with the given probability.
  constexpr bool chance(double probability) { return uniform() < probability; }

  /// Makes an independent generator, for a part that must not change the numbers of the others.
  constexpr Random fork() { return Random((*this)()); }

 private:
  __extension__ using Wide = unsigned __int128;

  static constexpr Wide widen(std::uint64_t a, std::uint64_t b) { return static_cast<Wide>(a) * b; }

  static constexpr std::uint64_t split_mix(std::uint64_t& seed) {
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace weft

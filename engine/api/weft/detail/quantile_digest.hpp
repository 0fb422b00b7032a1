// Quantiles of any numbers in little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/codec.hpp"

namespace weft::detail {

/// The sketch of Karnin, Lang and Liberty ("Optimal quantile approximation in streams", FOCS 2016) with k = 512: a quantile's rank
/// is at most 0.6 % of all ranks away from the wanted one, in 99 of 100 cases. Of fewer than 512 numbers, and at 0 and 1, it is
/// exact. Takes 12 KiB at most. Which of two neighbours is kept depends on the numbers, not on a random source: the same order of
/// the same calls gives the same quantiles. NaNs are larger than all numbers. One thread.
class QuantileDigest {
 public:
  void add(double number);
  void merge(const QuantileDigest& other);
  /// The number at nearest rank: the smallest that at least `part` (0 to 1) of all do not exceed. There must be one.
  double quantile(double part) const;
  std::uint64_t count() const { return count_; }
  std::size_t held_bytes() const;

  void encode(Encoder& out) const;
  static QuantileDigest decode(Decoder& in);

 private:
  std::size_t capacity_of(std::size_t level) const;
  void set_levels(std::size_t levels);
  void compress();
  void compact(std::size_t level);

  // Numbers as words in the same order. One on level i stands for 2^i numbers.
  std::vector<std::vector<std::uint64_t>> levels_;
  std::uint64_t count_ = 0, smallest_ = 0, largest_ = 0;
  std::size_t kept_ = 0, capacity_ = 0;  // of all levels
};

}  // namespace weft::detail

template <>
struct weft::Codec<weft::detail::QuantileDigest> {
  static void encode(const detail::QuantileDigest& value, Encoder& out) { value.encode(out); }
  static detail::QuantileDigest decode(Decoder& in) { return detail::QuantileDigest::decode(in); }
};

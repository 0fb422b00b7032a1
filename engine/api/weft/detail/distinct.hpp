// How many different values there are: all of them, kept, or an estimate from their hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/codec.hpp"

namespace weft::detail {

/// Different values as their encoded bytes, one after another, and a table of where they are. Takes 6 to 24 bytes for each beside
/// its own. One thread.
class ValueSet {
 public:
  /// Throws TaskError (resource_exhausted) where the values take more than 4 GiB.
  void add(ByteView value);
  void merge(const ValueSet& other);
  std::uint64_t size() const { return count_; }
  std::size_t held_bytes() const { return bytes_.capacity() + slots_.capacity() * sizeof(std::uint32_t); }

  void encode(Encoder& out) const;
  static ValueSet decode(Decoder& in);

 private:
  ByteView value_at(std::size_t& at) const;  // moves `at` behind it
  void put_into_slot(std::uint32_t at, std::uint64_t hash);
  void grow_slots();
  void append(ByteView value);

  std::vector<std::byte> bytes_;      // of each value a varint of its length, and itself
  std::vector<std::uint32_t> slots_;  // where values begin, plus one; 0: free. Empty where there are few values
  std::uint64_t count_ = 0;
};

/// HyperLogLog (Flajolet et al. 2007) with 4,096 registers and the estimator of O. Ertl ("New cardinality estimation algorithms for
/// HyperLogLog sketches", 2017, algorithm 6), which needs no correction for small or large numbers. The standard error is 1.6 %. Up
/// to 256 different hashes are kept themselves; their number is exact. One thread.
class DistinctSketch {
 public:
  void add(std::uint64_t hash);
  void merge(const DistinctSketch& other);
  std::uint64_t estimate() const;
  std::size_t held_bytes() const { return hashes_.capacity() * sizeof(std::uint64_t) + registers_.capacity(); }

  void encode(Encoder& out) const;
  static DistinctSketch decode(Decoder& in);

 private:
  void raise(std::uint64_t hash);
  void use_registers();

  std::vector<std::uint64_t> hashes_;    // ascending; empty as soon as there are registers
  std::vector<std::uint8_t> registers_;  // of each the largest rank that came
};

}  // namespace weft::detail

template <>
struct weft::Codec<weft::detail::ValueSet> {
  static void encode(const detail::ValueSet& value, Encoder& out) { value.encode(out); }
  static detail::ValueSet decode(Decoder& in) { return detail::ValueSet::decode(in); }
};
template <>
struct weft::Codec<weft::detail::DistinctSketch> {
  static void encode(const detail::DistinctSketch& value, Encoder& out) { value.encode(out); }
  static detail::DistinctSketch decode(Decoder& in) { return detail::DistinctSketch::decode(in); }
};

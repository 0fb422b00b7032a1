// In-memory sorting of (prefix, record) entries: radix by prefix, most significant bits first, so that the later passes stay in
// the cache; then by a comparator among entries of equal prefix. Stable. Nothing here leaves its arrays, whatever the comparator
// answers (std::sort may).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/lean/algorithm.hpp"
#include "runtime/operators/sort_entry.hpp"

namespace weft::runtime {

/// less(a, b) on entries.
template <class Less>
void insertion_sort(SortEntry* entries, std::size_t count, Less&& less) {
  for (std::size_t i = 1; i < count; ++i) {
    const SortEntry moving = entries[i];
    std::size_t hole = i;
    for (; hole > 0 && less(moving, entries[hole - 1]); --hole) entries[hole] = entries[hole - 1];
    entries[hole] = moving;
  }
}

/// Sorts `entries` with `scratch` of the same size.
template <class Less>
void merge_sort(SortEntry* entries, SortEntry* scratch, std::size_t count, Less&& less) {
  constexpr std::size_t kRun = 8;
  for (std::size_t low = 0; low < count; low += kRun) insertion_sort(entries + low, std::min(kRun, count - low), less);
  SortEntry* from = entries;
  SortEntry* to = scratch;
  for (std::size_t width = kRun; width < count; width *= 2) {
    for (std::size_t low = 0; low < count; low += 2 * width) {
      std::size_t left = low;
      const std::size_t middle = std::min(low + width, count);
      std::size_t right = middle;
      const std::size_t high = std::min(low + 2 * width, count);
      for (std::size_t out = low; out < high; ++out) {
        const bool take_right = right < high && (left == middle || less(from[right], from[left]));
        to[out] = take_right ? from[right++] : from[left++];
      }
    }
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, count, entries);
}

/// The radix sort. `TieLess` decides between entries of equal prefix; with `kPrefixDecides` those are equal.
template <bool kPrefixDecides, class TieLess>
class PrefixSorter {
 public:
  explicit PrefixSorter(TieLess& tie_less) : tie_less_(tie_less) {}

  void sort(SortEntry* entries, SortEntry* scratch, std::size_t count) {
    std::uint64_t differing = 0;
    for (std::size_t i = 1; i < count; ++i) differing |= entries[i].prefix ^ entries[0].prefix;
    const auto bits = static_cast<unsigned>(std::bit_width(differing));
    by_digits(entries, scratch, count, bits > kDigit ? bits - kDigit : 0, true);
  }

 private:
  static constexpr unsigned kDigit = 8;
  static constexpr std::size_t kBuckets = 1U << kDigit;
  static constexpr std::size_t kSmall = 40;  // below, insertion is faster than counting

  /// Sorts by the bits of the prefix below `shift` + 8; those above are equal. The result lands in `from`, or in `other`.
  void by_digits(SortEntry* from, SortEntry* other, std::size_t count, unsigned shift, bool stay) {
    if (count <= kSmall) return small(from, other, count, stay);
    std::array<std::size_t, kBuckets> next{};
    for (std::size_t i = 0; i < count; ++i) ++next[digit(from[i], shift)];
    if (next[digit(from[0], shift)] == count) {  // they don't differ here
      if (shift == 0) return equal(from, other, count, stay);
      return by_digits(from, other, count, shift > kDigit ? shift - kDigit : 0, stay);
    }
    std::size_t sum = 0;
    for (std::size_t& offset : next) sum += std::exchange(offset, sum);
    for (std::size_t i = 0; i < count; ++i) other[next[digit(from[i], shift)]++] = from[i];
    for (std::size_t bucket = 0, begin = 0; bucket < kBuckets; begin = next[bucket++]) {
      const std::size_t size = next[bucket] - begin;
      if (size == 0) continue;
      if (shift == 0) {
        equal(other + begin, from + begin, size, !stay);
      } else {
        by_digits(other + begin, from + begin, size, shift > kDigit ? shift - kDigit : 0, !stay);
      }
    }
  }

  static std::size_t digit(const SortEntry& entry, unsigned shift) { return (entry.prefix >> shift) & (kBuckets - 1); }

  void small(SortEntry* from, SortEntry* other, std::size_t count, bool stay) {
    insertion_sort(from, count, [this](const SortEntry& a, const SortEntry& b) {
      if (a.prefix != b.prefix) return a.prefix < b.prefix;
      return !kPrefixDecides && tie_less_(a, b);
    });
    if (!stay) std::copy_n(from, count, other);
  }

  void equal(SortEntry* from, SortEntry* other, std::size_t count, bool stay) {
    if (!kPrefixDecides && count > 1) merge_sort(from, other, count, tie_less_);
    if (!stay) std::copy_n(from, count, other);
  }

  TieLess& tie_less_;
};

/// Sorts with `scratch` of the same size.
template <bool kPrefixDecides, class TieLess>
void sort_entries(SortEntry* entries, SortEntry* scratch, std::size_t count, TieLess&& tie_less) {
  if (count < 2) return;
  PrefixSorter<kPrefixDecides, std::remove_reference_t<TieLess>>(tie_less).sort(entries, scratch, count);
}

}  // namespace weft::runtime

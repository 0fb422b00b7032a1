// In-memory sorting of (prefix, record) entries: radix by prefix, then a merge sort of the entries whose prefixes are equal.
// Stable. The merge sort never leaves its arrays, whatever the comparator answers (std::sort may).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::runtime {

struct SortEntry {
  std::uint64_t prefix;     // orders like the record, as far as 8 bytes can
  const std::byte* record;  // u32 size, bytes
};

/// Sorts `entries` with `scratch` of the same size. less(a, b) on entries.
template <class Less>
void merge_sort(SortEntry* entries, SortEntry* scratch, std::size_t count, Less&& less) {
  constexpr std::size_t kRun = 8;
  for (std::size_t low = 0; low < count; low += kRun) {
    const std::size_t high = std::min(low + kRun, count);
    for (std::size_t i = low + 1; i < high; ++i) {
      const SortEntry moving = entries[i];
      std::size_t hole = i;
      for (; hole > low && less(moving, entries[hole - 1]); --hole) entries[hole] = entries[hole - 1];
      entries[hole] = moving;
    }
  }
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

/// Least significant byte first; bytes that are equal in all prefixes cost nothing.
inline void radix_sort(SortEntry* entries, SortEntry* scratch, std::size_t count) {
  std::array<std::array<std::size_t, 256>, 8> counts{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < 8; ++byte) ++counts[byte][(entries[i].prefix >> (8 * byte)) & 0xff];
  }
  SortEntry* from = entries;
  SortEntry* to = scratch;
  for (std::size_t byte = 0; byte < 8; ++byte) {
    auto& offsets = counts[byte];
    if (offsets[(from[0].prefix >> (8 * byte)) & 0xff] == count) continue;
    std::size_t sum = 0;
    for (std::size_t& offset : offsets) sum += std::exchange(offset, sum);
    for (std::size_t i = 0; i < count; ++i) to[offsets[(from[i].prefix >> (8 * byte)) & 0xff]++] = from[i];
    std::swap(from, to);
  }
  if (from != entries) std::copy_n(from, count, entries);
}

/// tie_less(a, b) decides between entries of equal prefix. `prefix_decides`: those are equal.
template <class TieLess>
void sort_entries(SortEntry* entries, SortEntry* scratch, std::size_t count, bool prefix_decides, TieLess&& tie_less) {
  constexpr std::size_t kSmall = 256;
  if (count < 2) return;
  if (count < kSmall) {
    merge_sort(entries, scratch, count, [&](const SortEntry& a, const SortEntry& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : !prefix_decides && tie_less(a, b);
    });
    return;
  }
  radix_sort(entries, scratch, count);
  if (prefix_decides) return;
  for (std::size_t low = 0; low < count;) {
    std::size_t high = low + 1;
    while (high < count && entries[high].prefix == entries[low].prefix) ++high;
    if (high - low > 1) merge_sort(entries + low, scratch, high - low, tie_less);
    low = high;
  }
}

}  // namespace weft::runtime

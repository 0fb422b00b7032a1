// A set of small numbers as a bitmap with summary levels: insert, erase, first and next cost O(log64 n), a million numbers 130 KB.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::schedulers {

class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::uint32_t size) : size_(size) {
    for (std::uint32_t n = size;; n = (n + 63) / 64) {
      levels_.emplace_back((n + 63) / 64, 0);
      if (n <= 64) break;
    }
  }

  std::uint32_t universe() const { return size_; }
  std::uint32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool contains(std::uint32_t i) const { return i < size_ && (levels_[0][i / 64] >> (i % 64) & 1) != 0; }

  /// False when it was in already (or is out of range).
  bool insert(std::uint32_t i) {
    if (i >= size_ || contains(i)) return false;
    for (auto& level : levels_) {
      level[i / 64] |= std::uint64_t{1} << (i % 64);
      i /= 64;
    }
    ++count_;
    return true;
  }

  bool erase(std::uint32_t i) {
    if (!contains(i)) return false;
    for (auto& level : levels_) {
      level[i / 64] &= ~(std::uint64_t{1} << (i % 64));
      if (level[i / 64] != 0) break;
      i /= 64;
    }
    --count_;
    return true;
  }

  void clear() { *this = IndexSet(size_); }
  void fill() {
    for (std::uint32_t i = 0; i < size_; ++i) insert(i);
  }

  std::optional<std::uint32_t> first() const { return at_or_after(0); }

  /// The smallest member not below `from`.
  std::optional<std::uint32_t> at_or_after(std::uint32_t from) const {
    if (from >= size_ || count_ == 0) return std::nullopt;
    std::uint64_t position = from;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const auto word = static_cast<std::size_t>(position / 64);
      if (word < levels_[level].size()) {
        const std::uint64_t rest = levels_[level][word] & (~std::uint64_t{0} << (position % 64));
        if (rest != 0) return descend(level, word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
      position = position / 64 + 1;
    }
    return std::nullopt;
  }

 private:
  std::uint32_t descend(std::size_t level, std::size_t position) const {
    while (level-- > 0) position = position * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][position]));
    return static_cast<std::uint32_t>(position);
  }

  std::uint32_t size_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::vector<std::uint64_t>> levels_;  // [0] the members; a bit of [k + 1] says that word of [k] is not zero
};

}  // namespace weft::schedulers

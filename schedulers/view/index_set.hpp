// A set of small numbers as a bitmap with summary levels: insert, erase, first and next cost O(log64 n), a million numbers 130 KB.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::schedulers {

class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::uint32_t size) : size_(size), words_(end_of_levels(size), 0) {}

  std::uint32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool contains(std::uint32_t i) const { return i < size_ && (words_[i / 64] >> (i % 64) & 1) != 0; }

  /// False when it was in already (or is out of range).
  bool insert(std::uint32_t i) {
    if (i >= size_ || contains(i)) return false;
    for (Level level{0, size_};; level = level.above()) {
      words_[level.begin + i / 64] |= std::uint64_t{1} << (i % 64);
      if (level.last()) break;
      i /= 64;
    }
    ++count_;
    return true;
  }

  bool erase(std::uint32_t i) {
    if (!contains(i)) return false;
    for (Level level{0, size_};; level = level.above()) {
      std::uint64_t& word = words_[level.begin + i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0 || level.last()) break;
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
    std::array<Level, kMostLevels> levels;
    levels[0] = {0, size_};
    std::uint32_t position = from;
    for (std::size_t at = 0;; ++at) {
      const Level& level = levels[at];
      const std::uint32_t word = position / 64;
      if (word < level.words()) {
        const std::uint64_t rest = words_[level.begin + word] & (~std::uint64_t{0} << (position % 64));
        if (rest != 0) return descend(levels, at, word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
      }
      if (level.last()) return std::nullopt;
      position = word + 1;
      levels[at + 1] = level.above();
    }
  }

 private:
  static constexpr std::size_t kMostLevels = 6;  // 64^6 > 2^32
  /// Where a level's words are. A bit of a level says that a word of the one below is not zero.
  struct Level {
    std::uint32_t begin = 0, bits = 0;
    std::uint32_t words() const { return bits / 64 + (bits % 64 != 0 ? 1 : 0); }
    bool last() const { return bits <= 64; }
    Level above() const { return {begin + words(), words()}; }
  };
  static std::uint32_t end_of_levels(std::uint32_t size) {
    Level level{0, size};
    while (!level.last()) level = level.above();
    return level.begin + level.words();
  }

  std::uint32_t descend(const std::array<Level, kMostLevels>& levels, std::size_t at, std::uint32_t position) const {
    while (at-- > 0) position = position * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[levels[at].begin + position]));
    return position;
  }

  std::uint32_t size_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint64_t> words_;  // of the members, then of each level above
};

}  // namespace weft::schedulers

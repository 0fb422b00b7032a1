// Words and tables that count them. Three kinds of word by length, so that almost all are compared without following a pointer, and
// in one or two machine words; every kind has a table of its own with slots as small as the kind allows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "benchmarks/limits/huge_memory.hpp"

namespace limits {

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;  // multiplicative hashing: Knuth, The Art of Computer Programming 3, 6.4

inline std::uint64_t load64(const char* p) {
  std::uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/// Up to seven bytes, zero-padded, and the length in the last byte: never zero, and a NUL in the text does no harm.
struct ShortWord {
  static constexpr std::size_t kMax = 7;
  std::uint64_t bytes;

  static ShortWord at(const char* p, std::size_t length) {
    const std::uint64_t mask = (std::uint64_t{1} << (8 * length)) - 1;
    return {(load64(p) & mask) | std::uint64_t{length} << 56};
  }
  std::uint64_t hash() const { return bytes * kOdd; }
  bool empty() const { return bytes == 0; }
  bool operator==(const ShortWord&) const = default;
  std::size_t length() const { return bytes >> 56; }
  const char* text() const { return reinterpret_cast<const char*>(&bytes); }
};

/// Eight to fifteen bytes, held like a short word.
struct MediumWord {
  static constexpr std::size_t kMax = 15;
  std::uint64_t head, tail;

  static MediumWord at(const char* p, std::size_t length) {
    const std::uint64_t mask = (std::uint64_t{1} << (8 * (length - 8))) - 1;
    return {load64(p), (load64(p + 8) & mask) | std::uint64_t{length} << 56};
  }
  std::uint64_t hash() const { return (std::rotl(head * kOdd, 32) ^ tail) * kOdd; }
  bool empty() const { return tail == 0; }
  bool operator==(const MediumWord&) const = default;
  std::size_t length() const { return tail >> 56; }
  const char* text() const { return reinterpret_cast<const char*>(&head); }
};

/// Longer words: hash, place and length.
struct LongWord {
  std::uint64_t hashed;
  const char* place;
  std::size_t size;

  static LongWord at(const char* p, std::size_t length) {
    std::uint64_t hash = length;
    for (std::size_t i = 0; i + 8 < length; i += 8) hash = (std::rotl(hash, 32) ^ load64(p + i)) * kOdd;
    return {(std::rotl(hash, 32) ^ load64(p + length - 8)) * kOdd, p, length};
  }
  std::uint64_t hash() const { return hashed; }
  bool empty() const { return size == 0; }
  bool operator==(const LongWord& other) const {
    return hashed == other.hashed && size == other.size && std::memcmp(place, other.place, size) == 0;
  }
  std::size_t length() const { return size; }
  const char* text() const { return place; }
};

/// Open addressing by the hash's upper bits: slots lie in the order of their hashes, so growing a table and adding one table to
/// another walk both from front to back. Runs that reach the end go on behind it, not at the front.
template <class Word>
class WordTable {
 public:
  struct Slot {
    Word word;
    std::uint64_t count;
  };

  /// Makes room for `more` words that may all be new.
  void reserve(std::size_t more) {
    if ((used_ + more) * 2 > std::size_t{1} << bits_) grow(used_ + more);
  }
  void prefetch(const Word& word) const { __builtin_prefetch(&slots_[index(word)], 1); }
  /// `keep(word)` gives the word to store when it is new. Needs room made by reserve().
  template <class Keep>
  void add(const Word& word, std::uint64_t count, const Keep& keep) {
    Slot* slot = &slots_[index(word)];
    for (; !(slot->word == word); ++slot) {
      if (!slot->word.empty()) continue;
      slot->word = keep(word);
      ++used_;
      break;
    }
    slot->count += count;
  }
  /// Words that lie in other's memory stay there.
  void add_all(const WordTable& other) {
    reserve(other.used_);
    other.for_each([this](const Word& word, std::uint64_t count) { add(word, count, [](const Word& kept) { return kept; }); });
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_)
      if (!slot.word.empty()) visit(slot.word, slot.count);
  }

 private:
  static constexpr std::size_t kOverhang = 4096;
  static constexpr int kPartBits = 1;  // the uppermost bit chooses between the parts of a table set
  std::size_t index(const Word& word) const { return word.hash() << kPartBits >> (64 - bits_); }
  void grow(std::size_t words) {
    WordTable larger;
    larger.bits_ = static_cast<int>(std::bit_width(words * 2));
    larger.slots_ = HugeArray<Slot>((std::size_t{1} << larger.bits_) + kOverhang);
    for_each([&larger](const Word& word, std::uint64_t count) { larger.add(word, count, [](const Word& kept) { return kept; }); });
    *this = std::move(larger);
  }
  HugeArray<Slot> slots_;
  std::size_t used_ = 0;
  int bits_ = 0;
};

}  // namespace limits

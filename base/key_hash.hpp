// Hashes of keys. A key is its encoded bytes (a text: its characters, without the length), so std::string and std::string_view
// keys agree, on every machine.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.hpp"
#include "base/hash.hpp"
#include "base/wide_load.hpp"

namespace weft {

template <class T>
concept TextLike = std::same_as<T, std::string> || std::same_as<T, std::string_view>;

/// Keys of at most 8 bytes that are hashed as one word.
template <class T>
concept ScalarKey = (std::is_arithmetic_v<T> || std::is_enum_v<T>)&&sizeof(T) <= 8;

/// The bytes of a number, zero-extended.
template <ScalarKey T>
std::uint64_t scalar_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

inline constexpr std::size_t kShortBytes = 15;

/// Up to 15 bytes as two words, zero-padded, with their number in the uppermost byte: equal exactly when the bytes are.
struct ShortBytes {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  friend bool operator==(const ShortBytes&, const ShortBytes&) = default;
};

namespace detail {
inline constexpr auto kKeepShort = [] {
  std::array<ShortBytes, kShortBytes + 1> masks{};
  for (std::size_t size = 0; size <= kShortBytes; ++size) {
    masks[size].head = size >= 8 ? ~0ULL : (1ULL << (8 * size)) - 1;
    masks[size].tail = size > 8 ? (1ULL << (8 * (size - 8))) - 1 : 0;
  }
  return masks;
}();

/// Both halves of a 128-bit product, folded (the mixing step of wyhash).
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// More than 15 bytes, 16 at a time, the last ones perhaps twice (wyhash again; for keys of some dozens of bytes faster than a
/// call).
inline std::uint64_t hash_long(const std::byte* bytes, std::size_t size) {
  const auto word = [](const std::byte* from) {
    std::uint64_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  std::uint64_t state = size ^ 0x589965cc75374cc3ULL;
  const std::byte* const last = bytes + size - 16;
  for (; bytes < last; bytes += 16) state = fold_multiply(word(bytes) ^ 0xa0761d6478bd642fULL, word(bytes + 8) ^ state);
  state = fold_multiply(word(last) ^ 0xa0761d6478bd642fULL, word(last + 8) ^ state);
  return fold_multiply(state ^ 0x8ebc6af09c88c6e3ULL, size ^ 0xe7037ed1a0b428dbULL);
}
}  // namespace detail

/// `size` is at most 15. Reads 16 bytes at once and drops what is too much.
inline ShortBytes load_short(const std::byte* bytes, std::size_t size) {
  std::array<std::uint64_t, 2> words{};
  const std::uint64_t length = static_cast<std::uint64_t>(size) << 56;
  if (may_load<sizeof words>(bytes, size)) [[likely]] {
    std::memcpy(words.data(), unbounded(bytes), sizeof words);
    const ShortBytes& keep = detail::kKeepShort[size];
    return {words[0] & keep.head, (words[1] & keep.tail) | length};
  }
  if (size != 0) std::memcpy(words.data(), bytes, size);
  return {words[0], words[1] | length};
}

inline std::uint64_t hash_short(ShortBytes bytes) {
  return detail::fold_multiply(bytes.head ^ 0xa0761d6478bd642fULL, bytes.tail ^ 0xe7037ed1a0b428dbULL);
}

/// The hash of a key with these encoded bytes (a text: its characters).
inline std::uint64_t hash_key_bytes(ByteView bytes) {
  if (bytes.size() > kShortBytes) return detail::hash_long(bytes.data(), bytes.size());
  return hash_short(load_short(bytes.data(), bytes.size()));
}

/// The hash of a key that is a number.
inline std::uint64_t hash_key_bits(std::uint64_t bits) { return mix64(bits + 0x9e3779b97f4a7c15ULL); }  // 0 must not hash to 0

/// 64 good bits; equal for keys whose encoded bytes are equal.
template <class K>
std::uint64_t key_hash(const K& key) {
  WEFT_REQUIRE_CODEC(K);
  if constexpr (TextLike<K>) {
    return hash_key_bytes(as_bytes(key));
  } else if constexpr (ScalarKey<K>) {
    return hash_key_bits(scalar_bits(key));
  } else {
    thread_local Encoder scratch;
    scratch.clear();
    Codec<K>::encode(key, scratch);
    return hash_key_bytes(scratch.view());
  }
}

/// The partition of a key, from the high bits of its hash (multiplication, no division).
inline std::uint32_t hash_partition(std::uint64_t hash, std::uint32_t partitions) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint32_t>((static_cast<Wide>(hash) * partitions) >> 64);
}

}  // namespace weft

// Hashes of keys. A key is its encoded bytes (a text: its characters, without the length), so std::string and std::string_view
// keys agree, on every machine.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.hpp"
#include "base/hash.hpp"

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

/// 64 good bits; equal for keys whose encoded bytes are equal.
template <class K>
std::uint64_t key_hash(const K& key) {
  WEFT_REQUIRE_CODEC(K);
  if constexpr (TextLike<K>) {
    return hash64(std::string_view(key));
  } else if constexpr (ScalarKey<K>) {
    return mix64(scalar_bits(key) + 0x9e3779b97f4a7c15ULL);  // 0 must not hash to 0
  } else {
    thread_local Encoder scratch;
    scratch.clear();
    Codec<K>::encode(key, scratch);
    return hash64(scratch.view());
  }
}

/// The partition of a key, from the high bits of its hash (multiplication, no division).
inline std::uint32_t hash_partition(std::uint64_t hash, std::uint32_t partitions) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint32_t>((static_cast<Wide>(hash) * partitions) >> 64);
}

}  // namespace weft

// How keys lie in tables and in sort records. Two forms: numbers are one word; everything else is its encoded bytes (a text: its
// characters), padded with zeros to at least 16 so that short keys are compared as two words.
#pragma once

#include <cstring>

#include "base/codec.hpp"

namespace weft::runtime {

/// A number as a key.
template <class K>
struct ScalarForm {
  struct Ref {
    std::uint64_t hash;
    std::uint64_t bits;
  };
  static Ref ref(const K& key, Encoder&) {
    const std::uint64_t bits = scalar_bits(key);
    return {hash_key_bits(bits), bits};
  }

  /// The reference holds the whole key.
  static bool self_contained(const Ref&) { return true; }

  // In memory: the word.
  static constexpr std::size_t kHeader = sizeof(std::uint64_t);
  static std::size_t tail_bytes(const Ref&) { return 0; }
  static std::size_t stored_tail_bytes(const std::byte*) { return 0; }
  static void store(const Ref& key, std::byte* header, std::byte*) { std::memcpy(header, &key.bits, sizeof key.bits); }
  static bool equal(const Ref& key, const std::byte* header, const std::byte*) { return key.bits == bits_at(header); }
  static std::uint64_t table_hash(const std::byte* header) { return hash_key_bits(bits_at(header)); }
  static std::uint64_t hash(const std::byte* header, const std::byte*) { return hash_key_bits(bits_at(header)); }
  static K load(const std::byte* header, const std::byte*) { return from_bits(bits_at(header)); }
  static void encode(const std::byte* header, const std::byte*, Encoder& out) { out.append(header, sizeof(K)); }

 private:
  static std::uint64_t bits_at(const std::byte* header) {
    std::uint64_t bits;
    std::memcpy(&bits, header, sizeof bits);
    return bits;
  }
  static K from_bits(std::uint64_t bits) {
    K key;
    std::memcpy(&key, &bits, sizeof key);
    return key;
  }
};

/// A text or anything composed.
template <class K>
struct BytesForm {
  struct Ref {
    std::uint64_t hash;
    const std::byte* data;
    std::size_t size;
    ShortBytes words;  // the first 16 bytes of a longer key
  };
  static Ref ref(const K& key, Encoder& scratch) {
    if constexpr (TextLike<K>) {
      return ref(as_bytes(key));
    } else {
      scratch.clear();
      Codec<K>::encode(key, scratch);
      return ref(scratch.view());
    }
  }
  static Ref ref(ByteView bytes) {
    if (bytes.size() > kShortBytes) {
      return {detail::hash_long(bytes.data(), bytes.size()), bytes.data(), bytes.size(), load_short(bytes.data(), kShortBytes)};
    }
    const ShortBytes words = load_short(bytes.data(), bytes.size());
    return {hash_short(words, bytes.size()), bytes.data(), bytes.size(), words};
  }

  static bool self_contained(const Ref& key) { return key.size <= kShortBytes; }

  // In memory: size and half of the hash in the header, the bytes in the tail.
  static constexpr std::size_t kHeader = 2 * sizeof(std::uint32_t);
  static std::size_t tail_bytes(const Ref& key) { return padded(key.size); }
  static std::size_t stored_tail_bytes(const std::byte* header) { return padded(word_at(header)); }
  static void store(const Ref& key, std::byte* header, std::byte* tail) {
    const std::uint32_t words[2] = {static_cast<std::uint32_t>(key.size), static_cast<std::uint32_t>(key.hash)};
    std::memcpy(header, words, sizeof words);
    std::memcpy(tail, &key.words, kShortBytes);
    if (key.size > kShortBytes) std::memcpy(tail + kShortBytes, key.data + kShortBytes, key.size - kShortBytes);
  }
  static bool equal(const Ref& key, const std::byte* header, const std::byte* tail) {
    ShortBytes words;
    std::memcpy(&words, tail, kShortBytes);
    const bool same =
        (static_cast<std::uint64_t>(word_at(header) ^ key.size) | (words.low ^ key.words.low) | (words.high ^ key.words.high)) == 0;
    if (key.size <= kShortBytes) [[likely]]
      return same;
    return same && std::memcmp(tail + kShortBytes, key.data + kShortBytes, key.size - kShortBytes) == 0;
  }
  /// The lower 32 bits of the hash.
  static std::uint64_t table_hash(const std::byte* header) { return word_at(header + sizeof(std::uint32_t)); }
  static std::uint64_t hash(const std::byte* header, const std::byte* tail) { return hash_key_bytes(bytes(header, tail)); }
  static ByteView bytes(const std::byte* header, const std::byte* tail) { return {tail, word_at(header)}; }
  static K load(const std::byte* header, const std::byte* tail) {
    if constexpr (TextLike<K>) {
      return K(as_chars(bytes(header, tail)));
    } else {
      Decoder in(bytes(header, tail));
      return Codec<K>::decode(in);
    }
  }
  static void encode(const std::byte* header, const std::byte* tail, Encoder& out) {
    if constexpr (TextLike<K>) out.append_varint(word_at(header));
    out.append(tail, word_at(header));
  }

 private:
  static std::size_t padded(std::size_t size) { return size <= kShortBytes ? kShortBytes : (size + 7) & ~std::size_t{7}; }
  static std::uint32_t word_at(const std::byte* at) {
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
};

template <class K>
using KeyForm = std::conditional_t<ScalarKey<K>, ScalarForm<K>, BytesForm<K>>;

}  // namespace weft::runtime

// Keys as tables hold them. A key is a number or the bytes of its encoding (a text: its characters). Most keys are short, so there
// are kinds that are compared in one or two machine words and lie in the slot itself; only longer ones are followed by pointer.
#pragma once

#include <cstring>

#include "base/codec.hpp"
#include "runtime/operators/arena.hpp"

namespace weft::runtime {

// Every kind can say whether it is the mark of a free slot. Of numbers, 0 looks like one (kOdd) and has a place of its own.

struct NumberKey {
  static constexpr bool kOdd = true;
  std::uint64_t bits = 0;

  bool free() const { return bits == 0; }
  bool operator==(const NumberKey&) const = default;
  std::uint64_t hash() const { return hash_key_bits(bits); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(&bits); }
  std::size_t size() const { return sizeof bits; }
};

/// Up to seven bytes; one more than their number in the uppermost byte.
struct ShortKey {
  static constexpr bool kOdd = false;
  static constexpr std::size_t kMax = 7;
  std::uint64_t word = 0;

  static ShortKey of(const ShortBytes& bytes) { return {bytes.head | (bytes.tail + kOne)}; }
  bool free() const { return word == 0; }
  bool operator==(const ShortKey&) const = default;
  std::uint64_t hash() const { return hash_short({word & (kOne - 1), (word & ~(kOne - 1)) - kOne}); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(&word); }
  std::size_t size() const { return (word >> 56) - 1; }

 private:
  static constexpr std::uint64_t kOne = 1ULL << 56;
};

/// Eight to fifteen bytes.
struct MediumKey {
  static constexpr bool kOdd = false;
  ShortBytes bytes;

  bool free() const { return bytes.tail == 0; }
  bool operator==(const MediumKey&) const = default;
  std::uint64_t hash() const { return hash_short(bytes); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(&bytes); }
  std::size_t size() const { return bytes.tail >> 56; }
};

/// More; the bytes lie elsewhere.
struct LongKey {
  static constexpr bool kOdd = false;
  std::uint64_t hashed = 0;
  const std::byte* place = nullptr;
  std::size_t length = 0;

  bool free() const { return place == nullptr; }
  bool operator==(const LongKey& other) const {
    return hashed == other.hashed && length == other.length && std::memcmp(place, other.place, length) == 0;
  }
  std::uint64_t hash() const { return hashed; }
  const std::byte* data() const { return place; }
  std::size_t size() const { return length; }
};

/// Makes a key outlive what it was made of; false when memory is refused.
template <class Key>
bool keep_key(Key&, Arena&) {
  return true;
}
inline bool keep_key(LongKey& key, Arena& arena) {
  std::byte* copy = arena.try_allocate(key.length);
  if (copy == nullptr) return false;
  std::memcpy(copy, key.place, key.length);
  key.place = copy;
  return true;
}

/// A number as a key.
template <class K>
struct NumberForm {
  struct Ref {
    std::uint64_t hash;
    std::uint64_t bits;
  };
  static Ref ref(const K& key, Encoder&) {
    const std::uint64_t bits = scalar_bits(key);
    return {hash_key_bits(bits), bits};
  }

  static K load(const std::byte* data, std::size_t) {
    K key;
    std::memcpy(&key, data, sizeof key);
    return key;
  }
  static void encode(const std::byte* data, std::size_t, Encoder& out) { out.append(data, sizeof(K)); }
  static std::uint64_t hash(const std::byte* data, std::size_t) {
    std::uint64_t bits;
    std::memcpy(&bits, data, sizeof bits);
    return hash_key_bits(bits);
  }
};

/// A text or anything composed.
template <class K>
struct BytesForm {
  struct Ref {
    std::uint64_t hash;
    ShortBytes bytes;       // tail 0xff…: a long key
    const std::byte* data;  // of a long key
    std::size_t size;

    std::size_t short_size() const { return bytes.tail >> 56; }
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
    if (bytes.size() > kShortBytes) [[unlikely]]
      return {weft::detail::hash_long(bytes.data(), bytes.size()), {0, ~0ULL}, bytes.data(), bytes.size()};
    const ShortBytes words = load_short(bytes.data(), bytes.size());
    return {hash_short(words), words, nullptr, 0};
  }

  static K load(const std::byte* data, std::size_t size) {
    if constexpr (TextLike<K>) {
      return K(as_chars({data, size}));
    } else {
      Decoder in({unbounded(data), size});
      return Codec<K>::decode(in);
    }
  }
  /// Of a stored key.
  static void encode(const std::byte* data, std::size_t size, Encoder& out) {
    if constexpr (TextLike<K>) out.append_varint(size);
    if (size <= kShortBytes) {
      out.append_short(data, size);  // lies in a slot, which is no smaller
    } else {
      out.append(data, size);
    }
  }
  static std::uint64_t hash(const std::byte* data, std::size_t size) { return hash_key_bytes({unbounded(data), size}); }
};

template <class K>
using KeyForm = std::conditional_t<ScalarKey<K>, NumberForm<K>, BytesForm<K>>;

}  // namespace weft::runtime

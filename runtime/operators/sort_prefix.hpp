// Eight bytes of a key that order like the key: most comparisons of a sort need no more.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "runtime/operators/natural_order.hpp"

namespace weft::runtime {

/// a < b implies sort_prefix(a) <= sort_prefix(b). kDecides: equal prefixes mean equal keys.
template <class Key>
struct SortPrefix {
  static constexpr bool kDecides = false;
  static std::uint64_t of(const Key&) { return 0; }
};

/// Not of 128 bits, which are integral where a program is compiled with GNU's extensions.
template <class Key>
requires((std::is_integral_v<Key> && sizeof(Key) <= 8) || kOrderedByNumber<Key>) struct SortPrefix<Key> {
  static constexpr bool kDecides = true;
  static std::uint64_t of(Key key) {
    if constexpr (std::is_enum_v<Key>) {
      return SortPrefix<std::underlying_type_t<Key>>::of(static_cast<std::underlying_type_t<Key>>(key));
    } else if constexpr (std::is_signed_v<Key>) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(key)) ^ (1ULL << 63);
    } else {
      return static_cast<std::uint64_t>(key);
    }
  }
};

/// A NaN is larger than every number (natural_order.hpp).
template <class Key>
requires(std::is_same_v<Key, float> || std::is_same_v<Key, double>) struct SortPrefix<Key> {
  static constexpr bool kDecides = true;
  static std::uint64_t of(Key key) {
    if (key != key) return UINT64_MAX;
    const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(key) + 0.0);  // -0.0 becomes 0.0
    return (bits >> 63) != 0 ? ~bits : bits | (1ULL << 63);
  }
};

namespace detail {
inline std::uint64_t leading_bytes(const void* bytes, std::size_t size) {
  std::uint64_t word = 0;
  if (size != 0) std::memcpy(&word, bytes, size < 8 ? size : 8);
  return __builtin_bswap64(word);
}
}  // namespace detail

template <TextLike Key>
struct SortPrefix<Key> {
  static constexpr bool kDecides = false;
  static std::uint64_t of(const Key& key) { return detail::leading_bytes(key.data(), key.size()); }
};

template <class T, std::size_t N>
requires(N > 0) struct SortPrefix<std::array<T, N>> {
  static constexpr bool kBytes = std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>;
  static constexpr bool kDecides = (kBytes && N <= 8) || (N == 1 && SortPrefix<T>::kDecides);
  static std::uint64_t of(const std::array<T, N>& key) {
    if constexpr (kBytes) {
      return detail::leading_bytes(key.data(), N);
    } else {
      return SortPrefix<T>::of(key[0]);
    }
  }
};

template <class A, class B>
struct SortPrefix<std::pair<A, B>> {
  static constexpr bool kDecides = false;
  static std::uint64_t of(const std::pair<A, B>& key) { return SortPrefix<std::remove_cvref_t<A>>::of(key.first); }
};

template <class A, class... B>
struct SortPrefix<std::tuple<A, B...>> {
  static constexpr bool kDecides = sizeof...(B) == 0 && SortPrefix<std::remove_cvref_t<A>>::kDecides;
  static std::uint64_t of(const std::tuple<A, B...>& key) { return SortPrefix<std::remove_cvref_t<A>>::of(std::get<0>(key)); }
};

template <class Less, class Key>
inline constexpr bool kAscending = std::is_same_v<Less, NaturalLess> || std::is_same_v<Less, std::less<>> ||
                                   std::is_same_v<Less, std::less<Key>> || std::is_same_v<Less, std::ranges::less>;
template <class Less, class Key>
inline constexpr bool kDescending = std::is_same_v<Less, NaturalGreater> || std::is_same_v<Less, std::greater<>> ||
                                    std::is_same_v<Less, std::greater<Key>> || std::is_same_v<Less, std::ranges::greater>;

/// The prefix under the order of `Less`: less(a, b) implies of(a) <= of(b). All are equal under comparators that it does not know.
template <class Key, class Less>
struct OrderPrefix {
  static constexpr bool kKnown = kAscending<Less, Key> || kDescending<Less, Key>;
  static constexpr bool kDecides = kKnown && SortPrefix<Key>::kDecides;
  static std::uint64_t of(const Key& key) {
    if constexpr (kAscending<Less, Key>) {
      return SortPrefix<Key>::of(key);
    } else if constexpr (kDescending<Less, Key>) {
      return ~SortPrefix<Key>::of(key);
    } else {
      return 0;
    }
  }
};

}  // namespace weft::runtime

// How values become bytes: Codec<T> for arithmetic types, enums, ids, durations, strings, pairs, tuples, arrays, vectors, sets,
// maps, optionals and plain aggregates of those. Specialise weft::Codec<T> for anything else.
//
//   numbers, enums,     their own size, little-endian            vector, string   varint count, then the elements
//   ids, durations
//   bool, optional      one byte 0 or 1 (then the value)         the rest         their parts in order
//   sets, maps (also hashed ones)   varint count, then the elements in an order
//   nothing (empty struct, tuple<>)   one zero byte: every encoded value has at least one byte
//
// No padding byte is ever encoded, so equal values have equal bytes. Keys rely on that: two keys are the same key when their
// encoded bytes are equal. For floating-point keys this means that 0.0 and -0.0 are two keys, and a NaN equals itself.
//
// Decoding checks every length, and the values of enumerations E that have a last_of(E{}); it throws CodecError. std::string_view
// encodes like std::string and decodes to a view of the encoded bytes: it lives as long as they do.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/encoder.hpp"
#include "base/fields.hpp"
#include "base/ids.hpp"
#include "base/lean/algorithm.hpp"
#include "base/owned.hpp"

namespace weft {

/// The primary template says "no codec". A specialisation has
///   static void encode(const T& value, Encoder& out);   // at least one byte
///   static T decode(Decoder& in);
template <class T>
struct Codec {};

/// T has a codec.
template <class T>
concept Encodable = requires(const T& value, Encoder& out, Decoder& in) {
  Codec<T>::encode(value, out);
  { Codec<T>::decode(in) } -> std::convertible_to<T>;
};

#define WEFT_REQUIRE_CODEC(type)                                                                                                 \
  static_assert(::weft::Encodable<type>,                                                                                         \
                "weft: this record type has no codec, so it cannot be shuffled, sorted or stored. Records are made of numbers, " \
                "enums, strings, pairs, tuples, arrays, vectors, sets, maps, optionals and plain structs (up to 25 fields) of "  \
                "those; for other "                                                                                              \
                "types specialise weft::Codec<T> with encode() and decode().")

template <class T>
void encode(const T& value, Encoder& out) {
  WEFT_REQUIRE_CODEC(T);
  Codec<T>::encode(value, out);
}

template <class T>
T decode(Decoder& in) {
  WEFT_REQUIRE_CODEC(T);
  return Codec<T>::decode(in);
}

namespace detail {

/// The encoding of T is its object representation (only codecs of this header declare that).
template <class T>
constexpr bool is_flat() {
  if constexpr (std::is_array_v<T>) {
    return is_flat<std::remove_extent_t<T>>();
  } else if constexpr (requires { Codec<T>::kFlat; }) {
    return Codec<T>::kFlat;
  } else {
    return false;
  }
}

/// Every value of T takes the same number of bytes (0: not so), and any such bytes are a value: they are stored and loaded without
/// a look at each part.
template <class T>
struct FixedBytes {
  static constexpr std::size_t kSize = [] {
    if constexpr (is_flat<T>()) return sizeof(T);
    return std::size_t{0};
  }();
};
template <class... T>
struct FixedParts {
  static constexpr std::size_t kSize = ((FixedBytes<T>::kSize != 0) && ...) ? (FixedBytes<T>::kSize + ... + 0) : 0;
};
template <class A, class B>
struct FixedBytes<std::pair<A, B>> : FixedParts<A, B> {};
template <class... T>
struct FixedBytes<std::tuple<T...>> : FixedParts<T...> {};

template <class T>
constexpr bool encodable_field() {
  if constexpr (std::is_array_v<T>) {
    return encodable_field<std::remove_extent_t<T>>();
  } else {
    return Encodable<T>;
  }
}

template <class T>
void encode_field(const T& field, Encoder& out) {
  if constexpr (std::is_array_v<T>) {
    for (const auto& element : field) encode_field(element, out);
  } else {
    Codec<T>::encode(field, out);
  }
}

template <class T>
void decode_field(T& field, Decoder& in) {
  if constexpr (std::is_array_v<T>) {
    for (auto& element : field) decode_field(element, in);
  } else {
    field = Codec<T>::decode(in);
  }
}

template <class Tuple>
struct FieldTraits;
template <class... F>
struct FieldTraits<std::tuple<F&...>> {
  static constexpr bool kEncodable = (encodable_field<F>() && ...);
  static constexpr bool kAllFlat = (is_flat<F>() && ...);
  static constexpr std::size_t kSize = (sizeof(F) + ... + 0);
};

template <class T>
concept EncodableAggregate = PlainAggregate<T> && FieldTraits<FieldsOf<T>>::kEncodable;

/// The element owns what it refers to: nobody looks into containers of views when a record has to outlive its bytes.
template <class T>
concept OwningElement = Encodable<T> && std::is_same_v<T, Owned<T>>;
/// A set or map of any kind, recognised by its interface: <set>, <map> and the unordered ones need not be included here.
template <class T>
concept EncodableAssociative = requires(T& container) {
  typename T::key_type;
  typename T::value_type;
  typename T::allocator_type;
  container.emplace_hint(container.end(), *container.begin());
}
&&OwningElement<typename T::key_type> &&
    (
        requires { requires OwningElement<typename T::mapped_type>; } || !requires { typename T::mapped_type; });

}  // namespace detail

/// The encoding of T has the same length for every value and is what store_fixed() writes. True of numbers, enums and plain structs
/// without padding, and of pairs and tuples of those; not of bool, whose bytes are checked.
template <class T>
inline constexpr std::size_t kFixedBytes = detail::FixedBytes<T>::kSize;
template <class T>
concept FixedSize = (kFixedBytes<T> > 0);

template <FixedSize T>
void store_fixed(const T& value, std::byte* at);
template <FixedSize T>
T load_fixed(const std::byte* at);

template <class T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) struct Codec<T> {
  static constexpr bool kHasLast = requires { last_of(T{}); };
  static constexpr bool kFlat = !std::is_same_v<T, bool> && !std::is_same_v<T, long double> && !kHasLast;

  static void encode(T value, Encoder& out) {
    if constexpr (std::is_same_v<T, long double>) {
      out.append(&value, kLongDoubleBytes);
    } else if constexpr (std::is_same_v<T, bool>) {
      out.append_value(static_cast<std::uint8_t>(value));
    } else {
      out.append_value(value);
    }
  }
  static T decode(Decoder& in) {
    if constexpr (std::is_same_v<T, long double>) {
      T value = 0;
      std::memcpy(&value, in.take(kLongDoubleBytes), kLongDoubleBytes);
      return value;
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto byte = in.take_value<std::uint8_t>();
      if (byte > 1) throw CodecError("encoded record is damaged or of another type: a truth value is neither 0 nor 1");
      return byte != 0;
    } else {
      const T value = in.take_value<T>();
      if constexpr (kHasLast) {
        if (value > last_of(T{}))
          throw CodecError("encoded record is damaged or of another type: a value of an enumeration has no name");
      }
      return value;
    }
  }

 private:
  static constexpr std::size_t kLongDoubleBytes = sizeof(long double) == 16 ? 10 : sizeof(long double);  // x87: the rest is padding
};

template <class Tag, class Rep>
struct Codec<Id<Tag, Rep>> {
  static constexpr bool kFlat = true;
  static void encode(Id<Tag, Rep> id, Encoder& out) { out.append_value(id); }
  static Id<Tag, Rep> decode(Decoder& in) { return in.take_value<Id<Tag, Rep>>(); }
};

template <>
struct Codec<Duration> {
  static constexpr bool kFlat = true;
  static void encode(Duration duration, Encoder& out) { out.append_value(duration); }
  static Duration decode(Decoder& in) { return in.take_value<Duration>(); }
};

template <>
struct Codec<std::string_view> {
  static void encode(std::string_view text, Encoder& out) {
    out.append_varint(text.size());
    out.append(text.data(), text.size());
  }
  static std::string_view decode(Decoder& in) {
    const std::size_t size = in.take_count();
    return {reinterpret_cast<const char*>(in.take(size)), size};
  }
};

template <>
struct Codec<std::string> {
  static void encode(const std::string& text, Encoder& out) { Codec<std::string_view>::encode(text, out); }
  static std::string decode(Decoder& in) { return std::string(Codec<std::string_view>::decode(in)); }
};

template <Encodable A, Encodable B>
struct Codec<std::pair<A, B>> {
  static void encode(const std::pair<A, B>& value, Encoder& out) {
    if constexpr (FixedSize<std::pair<A, B>>) return store_fixed(value, out.grow(kFixedBytes<std::pair<A, B>>));
    Codec<A>::encode(value.first, out);
    Codec<B>::encode(value.second, out);
  }
  static std::pair<A, B> decode(Decoder& in) {
    if constexpr (FixedSize<std::pair<A, B>>) return load_fixed<std::pair<A, B>>(in.take(kFixedBytes<std::pair<A, B>>));
    A first = Codec<A>::decode(in);  // in this order, whatever the order of evaluation of arguments
    return {std::move(first), Codec<B>::decode(in)};
  }
};

template <Encodable... T>
struct Codec<std::tuple<T...>> {
  static void encode(const std::tuple<T...>& value, Encoder& out) {
    if constexpr (FixedSize<std::tuple<T...>>) return store_fixed(value, out.grow(kFixedBytes<std::tuple<T...>>));
    if constexpr (sizeof...(T) == 0) out.append_value(std::uint8_t{0});
    std::apply([&](const T&... part) { (Codec<T>::encode(part, out), ...); }, value);
  }
  static std::tuple<T...> decode(Decoder& in) {
    if constexpr (FixedSize<std::tuple<T...>>) return load_fixed<std::tuple<T...>>(in.take(kFixedBytes<std::tuple<T...>>));
    if constexpr (sizeof...(T) == 0) in.take(1);
    return std::tuple<T...>{Codec<T>::decode(in)...};
  }
};

template <Encodable T, std::size_t N>
struct Codec<std::array<T, N>> {
  static constexpr bool kFlat = N > 0 && detail::is_flat<T>();

  static void encode(const std::array<T, N>& value, Encoder& out) {
    if constexpr (N == 0) out.append_value(std::uint8_t{0});
    if constexpr (kFlat) {
      out.append(value.data(), sizeof(value));
    } else {
      for (const T& element : value) Codec<T>::encode(element, out);
    }
  }
  static std::array<T, N> decode(Decoder& in) {
    if constexpr (N == 0) in.take(1);
    return decode(in, std::make_index_sequence<(kFlat ? 0 : N)>());
  }

 private:
  template <std::size_t... I>
  static std::array<T, N> decode(Decoder& in, std::index_sequence<I...>) {
    if constexpr (kFlat) {
      return in.take_value<std::array<T, N>>();
    } else {
      return std::array<T, N>{(static_cast<void>(I), Codec<T>::decode(in))...};
    }
  }
};

template <Encodable T, class Allocator>
struct Codec<std::vector<T, Allocator>> {
  static void encode(const std::vector<T, Allocator>& value, Encoder& out) {
    out.append_varint(value.size());
    if constexpr (detail::is_flat<T>()) {
      out.append(value.data(), value.size() * sizeof(T));
    } else {
      for (const auto& element : value) Codec<T>::encode(element, out);
    }
  }
  static std::vector<T, Allocator> decode(Decoder& in) {
    const std::size_t count = in.take_count();
    std::vector<T, Allocator> value;
    if constexpr (detail::is_flat<T>()) {
      const std::byte* bytes = in.take(count * sizeof(T));  // no overflow: count is at most the bytes that remain
      value.resize(count);
      if (count != 0) std::memcpy(value.data(), bytes, count * sizeof(T));
    } else {
      value.reserve(count < kTrusted ? count : kTrusted);  // a damaged count must not reserve many times the input
      for (std::size_t i = 0; i < count; ++i) value.push_back(Codec<T>::decode(in));
    }
    return value;
  }

 private:
  static constexpr std::size_t kTrusted = 1024;
};

/// std::set, std::map, their unordered and multi forms, and whatever has the same interface: a count, then the elements (of maps,
/// key and value) in the container's order, or, where that is not an order of the elements, in the order of their bytes.
template <class T>
requires detail::EncodableAssociative<T>
struct Codec<T> {
  using Key = typename T::key_type;

  static void encode(const T& value, Encoder& out) {
    out.append_varint(value.size());
    if constexpr (requires { typename T::hasher; }) {
      std::vector<std::string> elements;
      elements.reserve(value.size());
      for (const auto& element : value) {
        Encoder one;
        encode_element(element, one);
        const ByteView bytes = one.view();
        elements.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
      std::sort(elements.begin(), elements.end());
      for (const std::string& element : elements) out.append(element.data(), element.size());
    } else {
      for (const auto& element : value) encode_element(element, out);
    }
  }
  static T decode(Decoder& in) {
    const std::size_t count = in.take_count();
    T value;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (requires { typename T::mapped_type; }) {
        Key key = Codec<Key>::decode(in);
        value.emplace_hint(value.end(), std::move(key), Codec<typename T::mapped_type>::decode(in));
      } else {
        value.emplace_hint(value.end(), Codec<Key>::decode(in));
      }
    }
    if (value.size() != count) throw CodecError("encoded record is damaged or of another type: an element is there twice");
    return value;
  }

 private:
  template <class Element>
  static void encode_element(const Element& element, Encoder& out) {
    if constexpr (requires { typename T::mapped_type; }) {
      Codec<Key>::encode(element.first, out);
      Codec<typename T::mapped_type>::encode(element.second, out);
    } else {
      Codec<Key>::encode(element, out);
    }
  }
};

template <Encodable T>
struct Codec<std::optional<T>> {
  static void encode(const std::optional<T>& value, Encoder& out) {
    Codec<bool>::encode(value.has_value(), out);
    if (value) Codec<T>::encode(*value, out);
  }
  static std::optional<T> decode(Decoder& in) {
    if (!Codec<bool>::decode(in)) return std::nullopt;
    return Codec<T>::decode(in);
  }
};

template <class T>
requires detail::EncodableAggregate<T>
struct Codec<T> {
  using Traits = detail::FieldTraits<FieldsOf<T>>;
  static constexpr bool kFlat =
      !std::is_empty_v<T> && Traits::kAllFlat && Traits::kSize == sizeof(T) && std::is_trivially_copyable_v<T>;

  static void encode(const T& value, Encoder& out) {
    if constexpr (std::is_empty_v<T>) {
      out.append_value(std::uint8_t{0});
    } else if constexpr (kFlat) {
      out.append(&value, sizeof(T));
    } else {
      std::apply([&](const auto&... field) { (detail::encode_field(field, out), ...); }, fields_of(value));
    }
  }
  static T decode(Decoder& in) {
    T value{};
    if constexpr (std::is_empty_v<T>) {
      in.take(1);
    } else if constexpr (kFlat) {
      std::memcpy(&value, in.take(sizeof(T)), sizeof(T));
    } else {
      std::apply([&](auto&... field) { (detail::decode_field(field, in), ...); }, fields_of(value));
    }
    return value;
  }
};

}  // namespace weft

#include "base/fixed_form.hpp"
#include "base/key_hash.hpp"

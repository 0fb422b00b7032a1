// How plain structs lie in Cap'n Proto structs, and whether they fit: the rules of base/rpc/versioned.hpp. Private to that header.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <capnp/any.h>
#include <capnp/schema.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fields.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace weft::rpc {

/// How a T travels that is none of the values that base/rpc/versioned.hpp lists: as a `Wire`, which is one. Specialised where
/// messages have Ts:
///   using Wire = …;
///   static Wire to_wire(const T&);        // or another struct that lies in messages as a Wire does
///   static Result<T> from_wire(Wire);
///   static std::size_t bytes(const T&);   // about as many as its Wire takes
template <class T>
struct WireForm {};

/// A list of numbers that is written piece by piece, without being put together before.
template <class N>
struct Pieces {
  std::vector<std::span<const N>> pieces;
};

}  // namespace weft::rpc

namespace weft::rpc::detail {

/// How many numbers and how many pointers every struct of a message has behind those of the schema. Not 0 in programs that stand
/// for a later release, whose schemas have grown (-DWEFT_LATER_RELEASE=ON, for scripts/upgrade-test).
#ifdef WEFT_LATER_RELEASE
inline constexpr std::uint16_t kLaterFields = 1;
#else
inline constexpr std::uint16_t kLaterFields = 0;
#endif

/// Where the fields of a struct lie in its messages.
struct WireStruct {
  struct Field {
    capnp::Type type;
    std::uint32_t offset = 0;  // numbers: in units of their size; Bool: in bits; otherwise in pointers
  };
  explicit WireStruct(capnp::StructSchema of);

  capnp::StructSchema schema;
  std::uint16_t words = 0, pointers = 0;
  std::uint32_t choice = 0;  // where a union has the number of its field, in units of two bytes
  std::vector<Field> fields;
  bool flat = false;                 // the beginning of its numbers has the bytes of the C++ struct
  const WireStruct* next = nullptr;  // of the same C++ type in another schema
};

template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct NumberOf<T> {
  using type = std::underlying_type_t<T>;
};
template <class Tag, class Rep>
struct NumberOf<Id<Tag, Rep>> {
  using type = Rep;
};
template <>
struct NumberOf<Duration> {
  using type = Duration::rep;
};
template <class T>
using Number = typename NumberOf<T>::type;
template <class T>
concept WireNumber = std::is_arithmetic_v<Number<T>>;

template <WireNumber T>
Number<T> to_number(const T& value) {
  if constexpr (std::is_same_v<T, Duration>) {
    return value.count();
  } else if constexpr (std::is_class_v<T>) {
    return value.value();
  } else {
    return static_cast<Number<T>>(value);
  }
}
template <WireNumber T>
T from_number(Number<T> number) {
  if constexpr (requires { last_of(T{}); }) {
    KJ_REQUIRE(number <= to_number(last_of(T{})), "a value of an enumeration has no name");
  }
  return static_cast<T>(number);
}

template <template <class...> class Of, class T>
inline constexpr bool kIs = false;
template <template <class...> class Of, class... T>
inline constexpr bool kIs<Of, Of<T...>> = true;

/// Travels as text where the schema has Text.
template <class T>
concept TextForm = requires(T& to) {
  { from_text(std::string_view(), to) } -> std::same_as<Result<void>>;
};
template <class T>
struct OptionalNumber : std::false_type {};
template <WireNumber T>
struct OptionalNumber<std::optional<T>> : std::true_type {};
template <class T>
inline constexpr bool kIsList = kIs<std::vector, T> || kIs<std::map, T>;
template <class T>
inline constexpr bool kIsBytes = std::is_same_v<T, Buffer> || std::is_same_v<T, SharedBytes>;
template <class T>
concept HasWireForm = requires {
  typename WireForm<T>::Wire;
};
/// A list that several messages share.
template <class T>
struct SharedList : std::false_type {};
template <class T>
struct SharedList<std::shared_ptr<const std::vector<T>>> : std::true_type {
  using List = std::vector<T>;
};
/// A struct with fields that may lie among those of the struct around it.
template <class T>
inline constexpr bool kIsPlain = false;
template <PlainAggregate T>
inline constexpr bool kIsPlain<T> = !std::is_empty_v<T> && !kIs<Pieces, T>;

inline capnp::Text::Reader text_reader(std::string_view text) { return {text.data(), text.size()}; }  // a NUL follows

/// The values that lie in the fields of a T's struct.
template <class T>
auto parts_of(T& value) {
  if constexpr (kIs<std::pair, std::remove_const_t<T>>) {
    return std::tie(value.first, value.second);
  } else if constexpr (kIsList<std::remove_const_t<T>>) {
    return std::tie(value);
  } else {
    return fields_of(value);
  }
}

template <class T>
const WireStruct& wire_struct(const capnp::Type& type);

template <class T>
constexpr capnp::schema::Type::Which number_type() {
  using Which = capnp::schema::Type::Which;
  if constexpr (std::is_same_v<T, bool>) return Which::BOOL;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? Which::FLOAT32 : Which::FLOAT64;
  constexpr Which kSigned[] = {Which::INT8, Which::INT16, Which::INT32, Which::INT64};
  constexpr Which kUnsigned[] = {Which::UINT8, Which::UINT16, Which::UINT32, Which::UINT64};
  constexpr std::size_t kSize = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  return std::is_signed_v<T> ? kSigned[kSize] : kUnsigned[kSize];
}

/// Whether a value of T travels as one of that type.
template <class T>
bool fits_type(const capnp::Type& type) {
  if constexpr (TextForm<T>) {
    if (type.isText()) return true;
  }
  if constexpr (HasWireForm<T>) {
    return fits_type<typename WireForm<T>::Wire>(type);
  } else if constexpr (SharedList<T>::value) {
    return fits_type<typename SharedList<T>::List>(type);
  } else if constexpr (WireNumber<T>) {
    return type.which() == number_type<Number<T>>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return type.isText() || type.isData();
  } else if constexpr (kIs<Pieces, T>) {
    return type.isList() && !type.asList().getElementType().isStruct();
  } else if constexpr (kIsBytes<T>) {
    return type.isUInt64();
  } else if constexpr (kIs<std::optional, T>) {
    return fits_type<typename T::value_type>(type);
  } else if constexpr (std::is_empty_v<T>) {
    return type.isVoid() || type.isStruct();
  } else {
    if constexpr (kIsList<T>) {
      if (type.isList()) return fits_type<typename T::value_type>(type.asList().getElementType());
    }
    return type.isStruct() && !wire_struct<T>(type).fields.empty();
  }
}

/// Whether the fields of that plain struct lie here themselves.
template <class T>
bool in_place(const capnp::Type& type) {
  return kIsPlain<T> && !type.isStruct() && !(TextForm<T> && type.isText());
}

using Fields = std::vector<WireStruct::Field>;
template <class T>
bool fits(Fields::const_iterator& at, Fields::const_iterator end);

template <class... T>
bool all_fit(Fields::const_iterator& at, Fields::const_iterator end, std::type_identity<std::tuple<T&...>>) {
  return (fits<std::remove_const_t<T>>(at, end) && ...);
}
template <class... T>
bool all_fit(Fields::const_iterator& at, Fields::const_iterator end, std::type_identity<std::variant<T...>>) {
  return (fits<T>(at, end) && ...);
}

/// Whether a member of that type travels in the fields from `at` on, which moves behind them.
template <class T>
bool fits(Fields::const_iterator& at, Fields::const_iterator end) {
  if (at == end) return false;
  if constexpr (HasWireForm<T>) return fits<typename WireForm<T>::Wire>(at, end);
  if constexpr (kIsPlain<T>) {
    if (in_place<T>(at->type)) return all_fit(at, end, std::type_identity<FieldsOf<T>>());
  }
  if constexpr (OptionalNumber<T>::value) {
    if (at->type.isBool() && ++at == end) return false;
  }
  return fits_type<T>((at++)->type);
}

/// A struct of nothing but numbers of which every value counts, without gaps: its bytes are its value.
template <class T>
constexpr bool is_flat() {
  if constexpr (HasWireForm<T> || std::is_same_v<T, bool>) {
    return false;
  } else if constexpr (WireNumber<T>) {
    return !requires { last_of(T{}); };
  } else if constexpr (kIsPlain<T> && std::is_trivially_copyable_v<T>) {
    return []<class... Part>(std::type_identity<std::tuple<Part&...>>) {
      return (is_flat<Part>() && ...) && (sizeof(Part) + ... + 0) == sizeof(T);
    }(std::type_identity<FieldsOf<T>>());
  } else {
    return false;
  }
}

/// Whether the numbers of a flat T lie in the fields from `at` on as they lie in a T that begins at that byte; moves both on.
template <class T>
bool lies_flat(Fields::const_iterator& at, std::size_t& byte) {
  if constexpr (WireNumber<T>) {
    const bool there = (at++)->offset * sizeof(T) == byte;
    byte += sizeof(T);
    return there;
  } else {
    return [&]<class... Part>(std::type_identity<std::tuple<Part&...>>) {
      return (lies_flat<Part>(at, byte) && ...);
    }(std::type_identity<FieldsOf<T>>());
  }
}

/// Made with the first value of T that travels as that schema, and kept for good.
template <class T>
const WireStruct& wire_struct(const capnp::Type& type) {
  static std::atomic<const WireStruct*> known{nullptr};
  const capnp::StructSchema schema = type.asStruct();
  for (const WireStruct* wire = known; wire != nullptr; wire = wire->next)
    if (wire->schema == schema) return *wire;
  auto* const made = new WireStruct(schema);  // NOLINT(cppcoreguidelines-owning-memory): shared by all threads until the end
  auto at = made->fields.cbegin();
  if constexpr (kIs<std::variant, T>) {
    WEFT_ASSERT(all_fit(at, made->fields.cend(), std::type_identity<T>()));
  } else {
    WEFT_ASSERT(all_fit(at, made->fields.cend(), std::type_identity<decltype(parts_of(std::declval<T&>()))>()));
  }
  WEFT_ASSERT(at == made->fields.cend());
  if constexpr (is_flat<T>()) {
    std::size_t byte = 0;
    at = made->fields.cbegin();
    made->flat = made->pointers == kLaterFields && lies_flat<T>(at, byte);
  }
  made->next = known;
  while (!known.compare_exchange_weak(made->next, made)) {
  }
  return *made;
}

}  // namespace weft::rpc::detail

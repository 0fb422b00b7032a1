// Plain structs as Cap'n Proto messages, for what crosses releases: field i of the struct is field i of the schema, in order of
// the ordinals, and nothing else has to be written down. For .cpp files only, like every generated schema header.
//
//   number, enum, Id<>, bool     the same width in the schema: Int8 … UInt64, Float32, Float64, Bool; enums as UInt8 or UInt16
//   std::string                  Text or Data; Data where it may have any bytes
//   std::vector<T>; plain struct, std::pair      List of what T is; a struct
//   std::optional<T>             of a string or a struct: a pointer that is null when there is nothing
//   std::variant<A, B …>         a struct that is one unnamed union of structs (of Void where the alternative has no fields)
//
// A schema grows at its end: an older reader ignores a field it does not know, a newer one reads zeros or nothing where an older
// writer knew no field. Defaults other than that are not supported. That struct and schema fit is asserted when the first
// message of the kind is made or read.
#pragma once

#include <atomic>
#include <cstring>
#include <optional>
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
#include "base/fields.hpp"
#include "base/ids.hpp"
#include "base/rpc/capnp.hpp"

namespace weft::rpc {
namespace detail {

/// Where the fields of a struct lie in its messages.
struct WireStruct {
  struct Field {
    capnp::Type type;
    std::uint32_t offset = 0;  // numbers: in units of their size; Bool: in bits; otherwise in pointers
  };
  explicit WireStruct(capnp::StructSchema of);

  capnp::StructSchema schema;
  std::uint16_t words = 0, pointers = 0;
  std::uint32_t choice = 0;  // where a union says which of its fields it is, in units of two bytes
  std::vector<Field> fields;
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
template <class T>
using Number = typename NumberOf<T>::type;
template <class T>
concept WireNumber = std::is_arithmetic_v<Number<T>>;

template <WireNumber T>
Number<T> to_number(const T& value) {
  if constexpr (std::is_class_v<T>) {
    return value.value();
  } else {
    return static_cast<Number<T>>(value);
  }
}

inline capnp::Text::Reader text_reader(const std::string& text) { return {text.c_str(), text.size()}; }
template <template <class...> class Of, class T>
inline constexpr bool kIs = false;
template <template <class...> class Of, class... T>
inline constexpr bool kIs<Of, Of<T...>> = true;

template <class T>
auto parts_of(T& value) {
  if constexpr (kIs<std::pair, std::remove_const_t<T>>) {
    return std::tie(value.first, value.second);
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

/// Whether values of T travel as the schema says.
template <class T>
bool fits(const capnp::Type& type) {
  if constexpr (WireNumber<T>) {
    return type.which() == number_type<Number<T>>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return type.isText() || type.isData();
  } else if constexpr (kIs<std::vector, T>) {
    return type.isList() && fits<typename T::value_type>(type.asList().getElementType());
  } else if constexpr (kIs<std::optional, T>) {
    return fits<typename T::value_type>(type);
  } else if constexpr (std::is_empty_v<T>) {
    return type.isVoid() || type.isStruct();
  } else {
    return type.isStruct() && !wire_struct<T>(type).fields.empty();
  }
}

template <class... T>
bool all_fit(const WireStruct& wire, std::type_identity<std::tuple<T&...>>) {
  std::size_t at = 0;
  return wire.fields.size() == sizeof...(T) && (fits<std::remove_const_t<T>>(wire.fields[at++].type) && ...);
}
template <class... T>
bool all_fit(const WireStruct& wire, std::type_identity<std::variant<T...>>) {
  return all_fit(wire, std::type_identity<std::tuple<T&...>>());
}

/// Made with the first value of T that travels as that schema, and kept for good.
template <class T>
const WireStruct& wire_struct(const capnp::Type& type) {
  static std::atomic<const WireStruct*> known{nullptr};
  const capnp::StructSchema schema = type.asStruct();
  for (const WireStruct* wire = known; wire != nullptr; wire = wire->next)
    if (wire->schema == schema) return *wire;
  auto* const made = new WireStruct(schema);  // NOLINT(cppcoreguidelines-owning-memory): shared by all threads until the end
  if constexpr (kIs<std::variant, T>) {
    WEFT_ASSERT(all_fit(*made, std::type_identity<T>()));
  } else {
    WEFT_ASSERT(all_fit(*made, std::type_identity<decltype(parts_of(std::declval<T&>()))>()));
  }
  made->next = known;
  while (!known.compare_exchange_weak(made->next, made)) {
  }
  return *made;
}

/// About how many words the value takes beside the struct it is a field of.
template <class T>
std::size_t words_beside(const T& value) {
  if constexpr (WireNumber<T>) {
    return 0;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.size() / sizeof(capnp::word) + 1;
  } else if constexpr (kIs<std::optional, T>) {
    return value ? words_beside(*value) : 0;
  } else if constexpr (kIs<std::vector, T>) {
    std::size_t words = 1 + value.size();
    if constexpr (!WireNumber<typename T::value_type>)
      for (const auto& element : value) words += words_beside(element);
    return words;
  } else if constexpr (kIs<std::variant, T>) {
    return std::visit([](const auto& chosen) { return words_beside(chosen); }, value) + 2;
  } else {
    return std::apply([](const auto&... part) { return (words_beside(part) + ... + sizeof...(part)); }, parts_of(value));
  }
}

template <class T>
void write_struct(capnp::AnyStruct::Builder out, const WireStruct& wire, const T& value);

template <class T>
void write_pointer(capnp::AnyPointer::Builder out, const capnp::Type& type, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (type.isText())
      out.setAs<capnp::Text>(text_reader(value));
    else
      out.setAs<capnp::Data>(data_reader(as_bytes(value)));
  } else if constexpr (kIs<std::optional, T>) {
    if (value) write_pointer(out, type, *value);
  } else if constexpr (kIs<std::vector, T>) {
    using Element = typename T::value_type;
    const auto size = static_cast<unsigned>(value.size());
    if (size == 0) return;
    if constexpr (WireNumber<Element>) {
      auto list = out.initAs<capnp::List<Number<Element>>>(size);
      for (unsigned i = 0; i < size; ++i) list.set(i, to_number(value[i]));
    } else if constexpr (std::is_same_v<Element, std::string>) {
      if (type.asList().getElementType().isText()) {
        auto list = out.initAs<capnp::List<capnp::Text>>(size);
        for (unsigned i = 0; i < size; ++i) list.set(i, text_reader(value[i]));
      } else {
        auto list = out.initAs<capnp::List<capnp::Data>>(size);
        for (unsigned i = 0; i < size; ++i) list.set(i, data_reader(as_bytes(value[i])));
      }
    } else {
      const WireStruct& wire = wire_struct<Element>(type.asList().getElementType());
      auto list = out.initAsListOfAnyStruct(wire.words, wire.pointers, size);
      for (unsigned i = 0; i < size; ++i) write_struct(list[i], wire, value[i]);
    }
  } else if constexpr (!std::is_empty_v<T>) {
    const WireStruct& wire = wire_struct<T>(type);
    write_struct(out.initAsAnyStruct(wire.words, wire.pointers), wire, value);
  }
}

template <class T>
void write_field(kj::ArrayPtr<capnp::byte> data, capnp::List<capnp::AnyPointer>::Builder& pointers, const WireStruct::Field& at,
                 const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value) data[at.offset / 8] = static_cast<capnp::byte>(data[at.offset / 8] | 1u << at.offset % 8);
  } else if constexpr (WireNumber<T>) {
    const auto number = to_number(value);
    std::memcpy(data.begin() + at.offset * sizeof(number), &number, sizeof(number));
  } else if constexpr (std::is_empty_v<T>) {
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.empty()) write_pointer(pointers[at.offset], at.type, value);
  } else {
    write_pointer(pointers[at.offset], at.type, value);
  }
}

template <class T>
void write_struct(capnp::AnyStruct::Builder out, const WireStruct& wire, const T& value) {
  auto data = out.getDataSection();
  auto pointers = out.getPointerSection();
  if constexpr (kIs<std::variant, T>) {
    const auto chosen = static_cast<std::uint16_t>(value.index());
    std::memcpy(data.begin() + wire.choice * sizeof(chosen), &chosen, sizeof(chosen));
    std::visit([&](const auto& alternative) { write_field(data, pointers, wire.fields[chosen], alternative); }, value);
  } else {
    std::apply(
        [&](const auto&... part) {
          const WireStruct::Field* at = wire.fields.data();
          (write_field(data, pointers, *at++, part), ...);
        },
        parts_of(value));
  }
}

template <class T>
void read_struct(capnp::AnyStruct::Reader in, const WireStruct& wire, T& value);

template <class T>
void read_pointer(capnp::AnyPointer::Reader in, const capnp::Type& type, T& value) {
  if (in.isNull()) return;
  if constexpr (std::is_same_v<T, std::string>) {
    if (type.isText())
      value = text_view(in.getAs<capnp::Text>());
    else
      value = as_chars(data_view(in.getAs<capnp::Data>()));
  } else if constexpr (kIs<std::optional, T>) {
    read_pointer(in, type, value.emplace());
  } else if constexpr (kIs<std::vector, T>) {
    using Element = typename T::value_type;
    if constexpr (WireNumber<Element>) {
      const auto list = in.getAs<capnp::List<Number<Element>>>();
      value.reserve(list.size());
      for (const auto number : list) value.push_back(static_cast<Element>(number));
    } else if constexpr (std::is_same_v<Element, std::string>) {
      if (type.asList().getElementType().isText()) {
        for (const auto text : in.getAs<capnp::List<capnp::Text>>()) value.emplace_back(text_view(text));
      } else {
        for (const auto data : in.getAs<capnp::List<capnp::Data>>()) value.emplace_back(as_chars(data_view(data)));
      }
    } else {
      const WireStruct& wire = wire_struct<Element>(type.asList().getElementType());
      const auto any = in.getAs<capnp::AnyList>();
      KJ_REQUIRE(any.getElementSize() != capnp::ElementSize::BIT, "a list of structs has bits");
      const auto list = any.as<capnp::List<capnp::AnyStruct>>();
      value.reserve(list.size());
      for (unsigned i = 0; i < list.size(); ++i) read_struct(list[i], wire, value.emplace_back());
    }
  } else if constexpr (!std::is_empty_v<T>) {
    read_struct(in.getAs<capnp::AnyStruct>(), wire_struct<T>(type), value);
  }
}

template <class T>
void read_field(kj::ArrayPtr<const capnp::byte> data, capnp::List<capnp::AnyPointer>::Reader pointers, const WireStruct::Field& at,
                T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = at.offset / 8 < data.size() && (data[at.offset / 8] >> at.offset % 8 & 1) != 0;
  } else if constexpr (WireNumber<T>) {
    Number<T> number{};
    const std::size_t offset = at.offset * sizeof(number);
    if (offset + sizeof(number) <= data.size()) std::memcpy(&number, data.begin() + offset, sizeof(number));
    value = static_cast<T>(number);
  } else if constexpr (!std::is_empty_v<T>) {
    if (at.offset < pointers.size()) read_pointer(pointers[at.offset], at.type, value);
  }
}

template <class T, std::size_t... I>
void read_choice(capnp::AnyStruct::Reader in, const WireStruct& wire, T& value, std::index_sequence<I...>) {
  const auto data = in.getDataSection();
  std::uint16_t chosen = 0;
  const std::size_t offset = wire.choice * sizeof(chosen);
  if (offset + sizeof(chosen) <= data.size()) std::memcpy(&chosen, data.begin() + offset, sizeof(chosen));
  KJ_REQUIRE(chosen < sizeof...(I), "it is of a kind that this version does not know", chosen);
  ((I == chosen ? read_field(data, in.getPointerSection(), wire.fields[I], value.template emplace<I>()) : void()), ...);
}

template <class T>
void read_struct(capnp::AnyStruct::Reader in, const WireStruct& wire, T& value) {
  if constexpr (kIs<std::variant, T>) {
    read_choice(in, wire, value, std::make_index_sequence<std::variant_size_v<T>>());
  } else {
    const auto data = in.getDataSection();
    const auto pointers = in.getPointerSection();
    std::apply(
        [&](auto&... part) {
          const WireStruct::Field* at = wire.fields.data();
          (read_field(data, pointers, *at++, part), ...);
        },
        parts_of(value));
  }
}

}  // namespace detail

/// The value as a message of the schema, as Payload::header wants it.
template <class Schema, class T>
Buffer encode_versioned(const T& value) {
  const detail::WireStruct& wire = detail::wire_struct<T>(capnp::Schema::from<Schema>());
  // In one piece: nothing of it has to be put together.
  capnp::MallocMessageBuilder message(static_cast<unsigned>(detail::words_beside(value) + wire.words + wire.pointers + 8u));
  detail::write_struct(message.getRoot<capnp::AnyPointer>().initAsAnyStruct(wire.words, wire.pointers), wire, value);
  return flatten(message);
}

/// Code::corrupt when the bytes are no such message; `what` names it in the error.
template <class Schema, class T>
Result<T> decode_versioned(ByteView bytes, std::string_view what) {
  return read_message<capnp::AnyPointer>(bytes, what, [](capnp::AnyPointer::Reader in) -> Result<T> {
    const detail::WireStruct& wire = detail::wire_struct<T>(capnp::Schema::from<Schema>());
    T value{};
    detail::read_struct(in.getAs<capnp::AnyStruct>(), wire, value);
    return value;
  });
}

}  // namespace weft::rpc

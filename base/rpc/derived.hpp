// Messages between sides of one release: the declaration of the struct is the format (docs/formats/frame.md). Members follow one
// another in the order of their declaration:
//
//   numbers, ids, durations    their own size, little-endian       string, vector, map   varint count, then the elements
//   bool                       one byte, 0 or 1                    optional              one byte, 0 or 1, then the value
//   enum                       its value, at most last_of(E{})     variant               one byte, the index, then the value
//   Buffer, SharedBytes        a varint length; the bytes follow the message as bulk
//   plain aggregates           their members; one zero byte when there are none
//
// Decoding checks every length and every value that not all bytes can be; what it allocates is in proportion to the message.
// For .cpp files: a header declares encode() and decode() of its folder's messages (runtime/protocol/task.hpp).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/encoder.hpp"
#include "base/fields.hpp"
#include "base/hash.hpp"
#include "base/ids.hpp"
#include "base/rpc/bulk.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// Where a derived message goes: its header, and what travels as bulk.
struct DerivedOut {
  Encoder header;
  std::vector<SharedBytes> bulk;
};

/// Where it comes from. Reading throws CodecError.
struct DerivedIn {
  Decoder header;
  BulkReader bulk;
};

/// How a T is written and read, and the hash that stands for its layout. Specialised below for what the head of this file lists,
/// and by others for types with a form of their own. write() may move bulk bytes out of the value.
template <class T>
struct Derived {
  static_assert(PlainAggregate<T>, "only plain structs of up to 24 members have a derived form");

  static void write(T& value, DerivedOut& out) {
    if constexpr (std::is_empty_v<T>) out.header.append_value(std::uint8_t{0});
    std::apply([&](auto&... member) { (Derived<std::remove_reference_t<decltype(member)>>::write(member, out), ...); },
               fields_of(value));
  }
  static T read(DerivedIn& in) {
    if constexpr (std::is_empty_v<T>) in.header.take(1);
    T value{};
    std::apply([&](auto&... member) { ((member = Derived<std::remove_reference_t<decltype(member)>>::read(in)), ...); },
               fields_of(value));
    return value;
  }
  static constexpr std::uint64_t layout() { return layout_of(static_cast<FieldsOf<T>*>(nullptr)); }

 private:
  template <class... Member>
  static constexpr std::uint64_t layout_of(std::tuple<Member&...>*) {
    std::uint64_t hash = sizeof...(Member);
    ((hash = hash_combine(hash, Derived<Member>::layout())), ...);
    return hash;
  }
};

namespace detail {

[[noreturn]] inline void refuse(const char* what) { throw CodecError(what); }

constexpr std::uint64_t layout(std::uint64_t kind, std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = mix64(0x64657269 + kind);
  for (const std::uint64_t part : parts) hash = hash_combine(hash, part);
  return hash;
}

inline bool read_flag(DerivedIn& in) {
  const auto byte = in.header.take_value<std::uint8_t>();
  if (byte > 1) refuse("a truth value is neither 0 nor 1");
  return byte != 0;
}

/// A count of elements that each take at least one byte, and how many of them to reserve for before they are there.
inline std::size_t read_count(DerivedIn& in) { return in.header.take_count(); }
inline std::size_t trusted(std::size_t count) { return count < 1024 ? count : 1024; }

}  // namespace detail

template <class T>
requires std::is_arithmetic_v<T>
struct Derived<T> {
  static void write(T value, DerivedOut& out) { out.header.append_value(value); }
  static T read(DerivedIn& in) {
    if constexpr (std::is_same_v<T, bool>) {
      return detail::read_flag(in);
    } else {
      return in.header.take_value<T>();
    }
  }
  static constexpr std::uint64_t layout() {
    return detail::layout(1, {sizeof(T), std::is_signed_v<T>, std::is_floating_point_v<T>, std::is_same_v<T, bool>});
  }
};

template <class T>
requires std::is_enum_v<T>
struct Derived<T> {
  using Value = std::underlying_type_t<T>;
  static_assert(std::is_unsigned_v<Value>);
  static constexpr Value kLast = static_cast<Value>(last_of(T{}));  // declared beside the enum

  static void write(T value, DerivedOut& out) { out.header.append_value(static_cast<Value>(value)); }
  static T read(DerivedIn& in) {
    const auto value = in.header.take_value<Value>();
    if (value > kLast) detail::refuse("a value of an enumeration has no name");
    return static_cast<T>(value);
  }
  static constexpr std::uint64_t layout() { return detail::layout(2, {sizeof(T), kLast}); }
};

template <class Tag, class Rep>
struct Derived<Id<Tag, Rep>> {
  static void write(Id<Tag, Rep> id, DerivedOut& out) { out.header.append_value(id.value()); }
  static Id<Tag, Rep> read(DerivedIn& in) { return Id<Tag, Rep>(in.header.take_value<Rep>()); }
  static constexpr std::uint64_t layout() { return detail::layout(3, {sizeof(Rep)}); }
};

template <>
struct Derived<Duration> {
  static void write(Duration value, DerivedOut& out) { out.header.append_value(value.count()); }
  static Duration read(DerivedIn& in) { return Duration(in.header.take_value<Duration::rep>()); }
  static constexpr std::uint64_t layout() { return detail::layout(4, {}); }
};

template <>
struct Derived<std::string> {
  static void write(const std::string& text, DerivedOut& out) {
    out.header.append_varint(text.size());
    out.header.append(as_bytes(text));
  }
  static std::string read(DerivedIn& in) {
    const std::size_t size = in.header.take_count();
    return {reinterpret_cast<const char*>(in.header.take(size)), size};
  }
  static constexpr std::uint64_t layout() { return detail::layout(5, {}); }
};

template <class T>
struct Derived<std::vector<T>> {
  static void write(std::vector<T>& items, DerivedOut& out) {
    out.header.append_varint(items.size());
    for (T& item : items) Derived<T>::write(item, out);
  }
  static std::vector<T> read(DerivedIn& in) {
    std::size_t left = detail::read_count(in);
    std::vector<T> items;
    for (items.reserve(detail::trusted(left)); left > 0; --left) items.push_back(Derived<T>::read(in));
    return items;
  }
  static constexpr std::uint64_t layout() { return detail::layout(6, {Derived<T>::layout()}); }
};

/// Shared by messages to several receivers: never null, and without bulk bytes.
template <class T>
struct Derived<std::shared_ptr<const std::vector<T>>> {
  static void write(const std::shared_ptr<const std::vector<T>>& items, DerivedOut& out) {
    out.header.append_varint(items->size());
    for (T item : *items) Derived<T>::write(item, out);
  }
  static std::shared_ptr<const std::vector<T>> read(DerivedIn& in) {
    return std::make_shared<const std::vector<T>>(Derived<std::vector<T>>::read(in));
  }
  static constexpr std::uint64_t layout() { return Derived<std::vector<T>>::layout(); }
};

template <class Key, class Value>
struct Derived<std::map<Key, Value>> {
  static void write(std::map<Key, Value>& items, DerivedOut& out) {
    out.header.append_varint(items.size());
    for (auto& [key, value] : items) {
      Derived<Key>::write(key, out);
      Derived<Value>::write(value, out);
    }
  }
  static std::map<Key, Value> read(DerivedIn& in) {
    std::map<Key, Value> items;
    for (std::size_t left = detail::read_count(in); left > 0; --left) {
      Key key = Derived<Key>::read(in);
      items.insert_or_assign(std::move(key), Derived<Value>::read(in));
    }
    return items;
  }
  static constexpr std::uint64_t layout() { return detail::layout(7, {Derived<Key>::layout(), Derived<Value>::layout()}); }
};

template <class T>
struct Derived<std::optional<T>> {
  static void write(std::optional<T>& value, DerivedOut& out) {
    out.header.append_value(static_cast<std::uint8_t>(value.has_value()));
    if (value) Derived<T>::write(*value, out);
  }
  static std::optional<T> read(DerivedIn& in) {
    if (!detail::read_flag(in)) return std::nullopt;
    return Derived<T>::read(in);
  }
  static constexpr std::uint64_t layout() { return detail::layout(8, {Derived<T>::layout()}); }
};

template <class... T>
struct Derived<std::variant<T...>> {
  using Variant = std::variant<T...>;
  static_assert(sizeof...(T) < 256);

  static void write(Variant& value, DerivedOut& out) {
    out.header.append_value(static_cast<std::uint8_t>(value.index()));
    std::visit([&]<class U>(U& held) { Derived<U>::write(held, out); }, value);
  }
  static Variant read(DerivedIn& in) {
    constexpr Variant (*kReaders[])(DerivedIn&) = {[](DerivedIn& from) { return Variant(Derived<T>::read(from)); }...};
    const auto index = in.header.take_value<std::uint8_t>();
    if (index >= sizeof...(T)) detail::refuse("a message of a kind nobody knows");
    return kReaders[index](in);
  }
  static constexpr std::uint64_t layout() { return detail::layout(9, {Derived<T>::layout()...}); }
};

template <>
struct Derived<SharedBytes> {
  static void write(const SharedBytes& value, DerivedOut& out) {
    out.header.append_varint(value.bytes.size());
    if (!value.bytes.empty()) out.bulk.push_back(value);
  }
  static SharedBytes read(DerivedIn& in);
  static constexpr std::uint64_t layout() { return detail::layout(10, {}); }
};

template <>
struct Derived<Buffer> {
  static void write(Buffer& value, DerivedOut& out) { Derived<SharedBytes>::write(SharedBytes(std::move(value)), out); }
  static Buffer read(DerivedIn& in) {
    auto bytes = in.bulk.take(in.header.take_varint());
    if (!bytes) throw CodecError(bytes.error().message());
    return std::move(*bytes);
  }
  static constexpr std::uint64_t layout() { return detail::layout(10, {}); }
};

inline SharedBytes Derived<SharedBytes>::read(DerivedIn& in) { return SharedBytes(Derived<Buffer>::read(in)); }

/// The message as what a frame carries.
template <class M>
Payload encode_derived(M message) {
  DerivedOut out;
  Derived<M>::write(message, out);
  return {Buffer::copy_of(out.header.view()), std::move(out.bulk), {}};
}

/// Code::corrupt, naming M::kName, unless header and bulk are such a message and nothing is left of the header. A message whose
/// values have to fit each other has a `Result<void> check(const M&)` in its namespace, which is asked last.
template <class M>
Result<M> decode_derived(const Message& message) {
  try {
    DerivedIn in{Decoder(message.header.view()), BulkReader(message.bulk.view())};
    M value = Derived<M>::read(in);
    if (!in.header.empty()) throw CodecError("bytes are left over");
    if constexpr (requires { check(value); }) WEFT_TRY(check(value));
    return value;
  } catch (const CodecError& error) {
    return fail(Code::corrupt, fmt::format("malformed {}: {}", M::kName, error.what()));
  }
}

/// All messages that two sides of one release exchange. layout() is a hash of their declarations, which the hello carries.
template <class... M>
struct MessageList {
  template <class Wanted>
  static constexpr bool kHas = (std::is_same_v<Wanted, M> || ...);
  static constexpr std::uint64_t layout() { return detail::layout(11, {Derived<M>::layout()...}); }
};

}  // namespace weft::rpc

// Messages between sides of one release: the declaration of the struct is the format (docs/formats/frame.md). Members follow one
// another in the order of their declaration, in the forms of base/codec.hpp, and besides:
//
//   variant                     one byte, the index, then the value
//   Buffer, SharedBytes         a varint length; the bytes follow the message as bulk
//   shared_ptr<const vector>    as the vector: shared by messages to several receivers, never null
//
// Every enumeration E has its last_of(E{}). Decoding checks every length and every value that not all bytes can be; what it
// allocates is in proportion to the message. For .cpp files: a header declares encode() and decode() of its folder's messages
// (runtime/protocol/task.hpp).
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

#include "base/codec.hpp"
#include "base/hash.hpp"
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

/// How a T is written and read: by its codec, and where it has none by the forms that messages have besides. write() may move bulk
/// bytes out of the value.
template <class T>
struct Derived {
  static_assert(Encodable<T> || PlainAggregate<T>, "only plain structs of up to 24 members have a derived form");

  static void write(T& value, DerivedOut& out) {
    if constexpr (Encodable<T>) {
      Codec<T>::encode(value, out.header);
    } else {
      std::apply([&]<class... Member>(Member&... member) { (Derived<Member>::write(member, out), ...); }, fields_of(value));
    }
  }
  static T read(DerivedIn& in) {
    if constexpr (Encodable<T>) {
      return Codec<T>::decode(in.header);
    } else {
      T value{};
      std::apply([&]<class... Member>(Member&... member) { ((member = Derived<Member>::read(in)), ...); }, fields_of(value));
      return value;
    }
  }
};

template <class T>
requires(!Encodable<std::vector<T>>) struct Derived<std::vector<T>> {
  static void write(std::vector<T>& items, DerivedOut& out) {
    out.header.append_varint(items.size());
    for (T& item : items) Derived<T>::write(item, out);
  }
  static std::vector<T> read(DerivedIn& in) {
    constexpr std::size_t kTrusted = 1024;  // before the elements are there
    std::size_t left = in.header.take_count();
    std::vector<T> items;
    for (items.reserve(left < kTrusted ? left : kTrusted); left > 0; --left) items.push_back(Derived<T>::read(in));
    return items;
  }
};

template <class T>
struct Derived<std::shared_ptr<const std::vector<T>>> {
  static void write(const std::shared_ptr<const std::vector<T>>& items, DerivedOut& out) {
    Codec<std::vector<T>>::encode(*items, out.header);
  }
  static std::shared_ptr<const std::vector<T>> read(DerivedIn& in) {
    return std::make_shared<const std::vector<T>>(Codec<std::vector<T>>::decode(in.header));
  }
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
    if (index >= sizeof...(T)) throw CodecError("a message of an unknown kind");
    return kReaders[index](in);
  }
};

template <>
struct Derived<Buffer> {
  static void write(Buffer& value, DerivedOut& out) {
    out.header.append_varint(value.size());
    if (value.size() != 0) out.bulk.emplace_back(std::move(value));
  }
  static Buffer read(DerivedIn& in) {
    auto bytes = in.bulk.take(in.header.take_varint());
    if (!bytes) throw CodecError(bytes.error().message());
    return std::move(*bytes);
  }
};

template <>
struct Derived<SharedBytes> {
  static void write(const SharedBytes& value, DerivedOut& out) {
    out.header.append_varint(value.bytes.size());
    if (!value.bytes.empty()) out.bulk.push_back(value);
  }
  static SharedBytes read(DerivedIn& in) { return SharedBytes(Derived<Buffer>::read(in)); }
};

namespace detail {

constexpr std::uint64_t layout(std::uint64_t form, std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = mix64(0x64657269 + form);
  for (const std::uint64_t part : parts) hash = hash_combine(hash, part);
  return hash;
}

}  // namespace detail

/// A hash of the form of T and of its parts: it is the same for types with the same bytes.
template <class T>
struct Layout {
  static constexpr std::uint64_t kHash = [] {
    if constexpr (std::is_enum_v<T>) {
      using Value = std::underlying_type_t<T>;
      static_assert(std::is_unsigned_v<Value>);
      return detail::layout(2, {sizeof(T), static_cast<Value>(last_of(T{}))});  // declared beside the enum
    } else if constexpr (std::is_arithmetic_v<T>) {
      return detail::layout(1, {sizeof(T), std::is_signed_v<T>, std::is_floating_point_v<T>, std::is_same_v<T, bool>});
    } else if constexpr (requires { Codec<T>::kLayout; }) {
      return Codec<T>::kLayout;
    } else {
      return Layout<FieldsOf<T>>::kHash;
    }
  }();
};
template <class... Member>
struct Layout<std::tuple<Member&...>> {
  static constexpr std::uint64_t kHash = detail::layout(0, {Layout<Member>::kHash...});
};
template <class Tag, class Rep>
struct Layout<Id<Tag, Rep>> {
  static constexpr std::uint64_t kHash = detail::layout(3, {sizeof(Rep)});
};
template <>
struct Layout<Duration> {
  static constexpr std::uint64_t kHash = detail::layout(4, {});
};
template <>
struct Layout<std::string> {
  static constexpr std::uint64_t kHash = detail::layout(5, {});
};
template <class T>
struct Layout<std::vector<T>> {
  static constexpr std::uint64_t kHash = detail::layout(6, {Layout<T>::kHash});
};
template <class T>
struct Layout<std::shared_ptr<const std::vector<T>>> : Layout<std::vector<T>> {};
template <class Key, class Value>
struct Layout<std::map<Key, Value>> {
  static constexpr std::uint64_t kHash = detail::layout(7, {Layout<Key>::kHash, Layout<Value>::kHash});
};
template <class T>
struct Layout<std::optional<T>> {
  static constexpr std::uint64_t kHash = detail::layout(8, {Layout<T>::kHash});
};
template <class... T>
struct Layout<std::variant<T...>> {
  static constexpr std::uint64_t kHash = detail::layout(9, {Layout<T>::kHash...});
};
template <>
struct Layout<Buffer> {
  static constexpr std::uint64_t kHash = detail::layout(10, {});
};
template <>
struct Layout<SharedBytes> : Layout<Buffer> {};

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
  static constexpr std::uint64_t layout() { return detail::layout(11, {Layout<M>::kHash...}); }
};

}  // namespace weft::rpc

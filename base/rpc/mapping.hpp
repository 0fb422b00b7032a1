// Between structs and their Cap'n Proto forms, each field named once. For a struct T with the schema struct `wire::T`, its file has
//
//   namespace weft::folder::wire {                 // found by argument-dependent lookup
//   template <class Io>
//   void map(Io& io, folder::T& value) {
//     io(WEFT_WIRE(Slots), value.slots);           // getSlots, setSlots, initSlots
//     io(WEFT_WIRE(Name), value.name);
//   }
//   }
//
// and the same function writes and reads: to_payload<wire::T>(value), from_payload<wire::T, T>(message, "what it is"). Members are
// numbers, enums with a last_of() (base/rpc/derived.hpp), ids, durations, strings, mapped structs, vectors of those, and maps by
// name (lists of structs with the fields `name` and `value`). What is missing in the message of an older release gets the default
// of its schema; what an older reader does not know, it passes over. For .cpp files only, like every generated schema header.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/rpc/payload.hpp"

namespace weft::rpc {

/// How a field of a Cap'n Proto struct is reached. The three are used as far as reader or builder have them.
template <class Get, class Set, class Init>
struct WireField {
  Get get;
  Set set;
  Init init;
};
template <class Get, class Set, class Init>
WireField(Get, Set, Init) -> WireField<Get, Set, Init>;

#define WEFT_WIRE(Name)                                                                                      \
  ::weft::rpc::WireField {                                                                                   \
    [](auto& wire_) { return wire_.get##Name(); }, [](auto& wire_, const auto& v_) { wire_.set##Name(v_); }, \
        [](auto& wire_, auto... size_) { return wire_.init##Name(size_...); }                                \
  }

namespace detail {

template <class T>
struct IsId : std::false_type {};
template <class Tag, class Rep>
struct IsId<Id<Tag, Rep>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class V>
struct IsMap<std::map<std::string, V>> : std::true_type {};

/// One value of a schema's own types.
template <class T>
inline constexpr bool kIsScalar =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || IsId<T>::value || std::is_same_v<T, Duration> || std::is_same_v<T, std::string>;

template <class T>
auto to_wire(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (IsId<T>::value) {
    return value.value();
  } else if constexpr (std::is_same_v<T, Duration>) {
    return value.count();
  } else {
    return value;
  }
}

}  // namespace detail

/// Writes members into the builder of a Cap'n Proto struct. May move bulk bytes out of them.
template <class Builder>
class WireWriter {
 public:
  WireWriter(Builder wire, std::vector<SharedBytes>& bulk) : wire_(wire), bulk_(bulk) {}

  template <class Field, class T>
  void operator()(const Field& field, T& member) {
    if constexpr (detail::kIsScalar<T>) {
      field.set(wire_, detail::to_wire(member));
    } else if constexpr (detail::IsVector<T>::value) {
      list(field, member);
    } else if constexpr (detail::IsMap<T>::value) {
      auto entries = field.init(wire_, count(member.size()));
      unsigned i = 0;
      for (const auto& [name, value] : member) {
        auto entry = entries[i++];
        entry.setName(text(name));
        entry.setValue(detail::to_wire(value));
      }
    } else {
      mapped(field.init(wire_), member);
    }
  }

  /// A value that may be missing, with a flag that says whether it is there.
  template <class Flag, class Field, class T>
  void optional(const Flag& flag, const Field& field, std::optional<T>& member) {
    flag.set(wire_, member.has_value());
    if (member) (*this)(field, *member);
  }
  /// One that is missing when it is zero (or empty).
  template <class Field, class T>
  void unless_zero(const Field& field, std::optional<T>& member) {
    if (member) (*this)(field, *member);
  }
  /// One that travels as text: `print` makes it, `parse` gives a Result. An empty text leaves the member as it is.
  template <class Field, class T, class Print, class Parse>
  void as_text(const Field& field, T& member, Print print, Parse) {
    field.set(wire_, text(std::string(print(member))));
  }
  /// Raw bytes within the message.
  template <class Field>
  void data(const Field& field, Buffer& member) {
    field.set(wire_, data_reader(member.view()));
  }
  /// Raw bytes behind the message, in the order of these calls; the field is their number.
  template <class Field>
  void bulk(const Field& field, Buffer& member) {
    field.set(wire_, std::uint64_t{member.size()});
    append(member);
  }
  template <class Field>
  void bulk(const Field& field, std::vector<Buffer>& members) {
    auto sizes = field.init(wire_, count(members.size()));
    for (unsigned i = 0; i < sizes.size(); ++i) {
      sizes.set(i, members[i].size());
      append(members[i]);
    }
  }

 private:
  static unsigned count(std::size_t items) { return static_cast<unsigned>(items); }

  template <class Inner, class T>
  void mapped(Inner inner, T& member) {
    WireWriter<Inner> io(inner, bulk_);
    map(io, member);
  }
  template <class Field, class T>
  void list(const Field& field, std::vector<T>& members) {
    auto items = field.init(wire_, count(members.size()));
    for (unsigned i = 0; i < items.size(); ++i) {
      if constexpr (detail::kIsScalar<T>) {
        items.set(i, detail::to_wire(members[i]));
      } else {
        mapped(items[i], members[i]);
      }
    }
  }
  void append(Buffer& bytes) {
    if (!bytes.empty()) bulk_.emplace_back(std::move(bytes));
  }

  Builder wire_;
  std::vector<SharedBytes>& bulk_;
};

/// What a whole message's readers share: its bulk bytes, and the first thing that was wrong with it.
struct WireInput {
  BulkReader bulk;
  std::optional<Error> error{};
};

/// Reads members from the reader of a Cap'n Proto struct.
template <class Reader>
class WireReader {
 public:
  WireReader(Reader wire, WireInput& input) : wire_(wire), input_(input) {}

  template <class Field, class T>
  void operator()(const Field& field, T& member) {
    if constexpr (detail::kIsScalar<T>) {
      scalar(field.get(wire_), member);
    } else if constexpr (detail::IsVector<T>::value) {
      list(field.get(wire_), member);
    } else if constexpr (detail::IsMap<T>::value) {
      for (auto entry : field.get(wire_)) scalar(entry.getValue(), member[string(entry.getName())]);
    } else {
      mapped(field.get(wire_), member);
    }
  }

  template <class Flag, class Field, class T>
  void optional(const Flag& flag, const Field& field, std::optional<T>& member) {
    if (flag.get(wire_)) (*this)(field, member.emplace());
  }
  template <class Field, class T>
  void unless_zero(const Field& field, std::optional<T>& member) {
    T value{};
    (*this)(field, value);
    if (value != T{}) member = std::move(value);
  }
  template <class Field, class T, class Print, class Parse>
  void as_text(const Field& field, T& member, Print, Parse parse) {
    const std::string value = string(field.get(wire_));
    if (value.empty()) return;
    auto parsed = parse(value);
    if (!parsed) return failed(std::move(parsed).error());
    member = std::move(*parsed);
  }
  template <class Field>
  void data(const Field& field, Buffer& member) {
    member = Buffer::copy_of(data_view(field.get(wire_)));
  }
  template <class Field>
  void bulk(const Field& field, Buffer& member) {
    take(field.get(wire_), member);
  }
  template <class Field>
  void bulk(const Field& field, std::vector<Buffer>& members) {
    for (const std::uint64_t size : field.get(wire_)) take(size, members.emplace_back());
  }

 private:
  static constexpr std::size_t kTrusted = 1u << 20;  // elements reserved for; a message of structs without bytes may announce more

  template <class From, class T>
  void scalar(const From& from, T& member) {
    if constexpr (std::is_same_v<T, std::string>) {
      member = string(from);
    } else if constexpr (std::is_enum_v<T>) {
      constexpr auto kLast = static_cast<std::underlying_type_t<T>>(last_of(T{}));
      if (from > kLast) return failed(Error(Code::corrupt, fmt::format("unknown value {} of an enumeration", from)));
      member = static_cast<T>(from);
    } else {
      member = T(from);
    }
  }
  template <class Inner, class T>
  void mapped(Inner inner, T& member) {
    WireReader<Inner> io(inner, input_);
    map(io, member);
  }
  template <class List, class T>
  void list(List items, std::vector<T>& members) {
    members.reserve(std::min<std::size_t>(items.size(), kTrusted));
    for (auto item : items) {
      if constexpr (detail::kIsScalar<T>) {
        scalar(item, members.emplace_back());
      } else {
        mapped(item, members.emplace_back());
      }
    }
  }
  void take(std::uint64_t size, Buffer& member) {
    auto bytes = input_.bulk.take(size);
    if (bytes) {
      member = std::move(*bytes);
    } else {
      failed(std::move(bytes).error());
    }
  }
  void failed(Error error) {
    if (!input_.error) input_.error = std::move(error);
  }

  Reader wire_;
  WireInput& input_;
};

/// The message as what a frame carries: its header, and the bulk bytes that map() named, which are moved.
template <class Schema, class T>
Payload to_payload(T& value) {
  capnp::MallocMessageBuilder message;
  std::vector<SharedBytes> bulk;
  WireWriter<typename Schema::Builder> io(message.initRoot<Schema>(), bulk);
  map(io, value);
  return {flatten(message), std::move(bulk), {}};
}
/// Likewise, of a struct whose map() names no bulk bytes: it is not changed.
template <class Schema, class T>
Buffer to_bytes(const T& value) {
  Payload payload = to_payload<Schema>(const_cast<T&>(value));
  WEFT_ASSERT(payload.bulk.empty());
  return std::move(payload.header);
}

/// The value in `header` and `bulk`; Code::corrupt, naming `what`, when they hold none, or what a parser said.
template <class Schema, class T>
Result<T> from_bytes(ByteView header, ByteView bulk, std::string_view what) {
  return read_message<Schema>(header, what, [&](typename Schema::Reader in) -> Result<T> {
    T value{};
    WireInput input{BulkReader(bulk)};
    WireReader<typename Schema::Reader> io(in, input);
    map(io, value);
    if (input.error) return fail(std::move(*input.error).wrap(fmt::format("malformed {}", what)));
    return value;
  });
}
template <class Schema, class T>
Result<T> from_payload(const Message& message, std::string_view what) {
  return from_bytes<Schema, T>(message.header.view(), message.bulk.view(), what);
}

}  // namespace weft::rpc

// Plain structs as messages between processes of one release, which the hello makes sure of: base/codec.hpp derives the bytes from
// the struct's fields, so nothing but the struct is written down. What another release may send or read is versioned instead
// (base/rpc/versioned.hpp).
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "base/codec.hpp"
#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"

/// As the number.
template <class Tag, class Rep>
struct weft::Codec<weft::Id<Tag, Rep>> {
  static void encode(weft::Id<Tag, Rep> id, Encoder& out) { Codec<Rep>::encode(id.value(), out); }
  static weft::Id<Tag, Rep> decode(Decoder& in) { return weft::Id<Tag, Rep>(Codec<Rep>::decode(in)); }
};

/// Which alternative it is, one byte; then that one.
template <weft::Encodable... T>
struct weft::Codec<std::variant<T...>> {
  static_assert(sizeof...(T) < 256);
  static void encode(const std::variant<T...>& value, Encoder& out) {
    out.append_value(static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& chosen) { weft::encode(chosen, out); }, value);
  }
  static std::variant<T...> decode(Decoder& in) { return decode(in, std::index_sequence_for<T...>()); }

 private:
  template <std::size_t... I>
  static std::variant<T...> decode(Decoder& in, std::index_sequence<I...>) {
    const auto chosen = in.take_value<std::uint8_t>();
    std::variant<T...> value;
    if (!((I == chosen && (value.template emplace<I>(Codec<T>::decode(in)), true)) || ...))
      throw CodecError("a message is of a kind that is not known");
    return value;
  }
};

namespace weft::storage {

template <class T>
rpc::Payload encode_derived(const T& value) {
  Encoder out;
  weft::encode(value, out);
  return {Buffer::copy_of(out.view()), {}, {}};
}

/// Code::corrupt when the bytes are not exactly one value; `what` names it in the error.
template <class T>
Result<T> decode_derived(const rpc::Message& message, std::string_view what) {
  try {
    Decoder in(message.header.view());
    T value = weft::decode<T>(in);
    if (in.empty()) return value;
  } catch (const CodecError&) {
  }
  return fail(Code::corrupt, fmt::format("a malformed {}", what));
}

}  // namespace weft::storage

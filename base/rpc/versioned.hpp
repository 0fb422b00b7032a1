// Plain structs as Cap'n Proto messages, for what crosses releases: the declaration of the struct is the list of its fields. They
// are the fields of the schema, in order of the ordinals, and nothing else has to be written down. For .cpp files only, like every
// generated schema header.
//
//   number, enum, Id<>, bool     the same width in the schema: Int8 … UInt64, Float32, Float64, Bool; enums as UInt8 or UInt16, at
//                                most last_of(E{}) where their header has that; Duration as Int64
//   std::string                  Text or Data; Data where it may have any bytes
//   Buffer, SharedBytes          UInt64: the length of bytes that follow the message as bulk, one piece after the other
//   std::vector<T>; std::pair    List of what T is; a struct
//   std::map<std::string, T>     List of structs of a name and a value
//   plain struct                 a struct; or its fields in the struct around it, where the schema has these instead
//   shared_ptr<const vector>     as the vector: shared by messages to several receivers, never null
//   std::optional<T>             of a string, a list or a struct: a pointer, null when there is nothing. Of a number: 0 when there
//   is
//                                nothing, or a Bool that says whether there is one, and the number behind it
//   std::variant<A, B …>         a struct that is one unnamed union of structs (of Void where the alternative has no fields)
//   with a WireForm<T>           what that makes of it
//   with to_string(const T&) and Result<void> from_text(std::string_view, T&) in its namespace: Text, where the schema has that
//
// A struct of the schema with one field may stand for what that field is (a list of lists has to be one of structs).
//
// A schema grows at its end: an older reader ignores a field it does not know, a newer one reads zeros or nothing where an older
// writer knew no field. Defaults other than that are not supported. A new alternative of a union is refused by an older reader, or
// left out of a list whose struct has kSkipsUnknown, where the caller counts what is left out. Which rule is meant for which
// message, and what else a change has to observe, is in docs/formats/frame.md. That struct and schema fit is asserted when the
// first message of the kind is made or read.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "base/rpc/struct_reader.hpp"
#include "base/rpc/struct_writer.hpp"

namespace weft::rpc {

/// The value as a message of the schema. Its Buffers are moved to the payload's bulk.
template <class Schema, class T>
Payload versioned_payload(T& value) {
  const detail::WireStruct& wire = detail::wire_struct<std::remove_const_t<T>>(capnp::Schema::from<Schema>());
  FlatMessage message(detail::words_beside(value) + wire.words + wire.pointers + 8);
  Payload payload;
  const auto root = message.getRoot<capnp::AnyPointer>().initAsAnyStruct(wire.words, wire.pointers);
  detail::StructWriter::write(root, wire, value, payload.bulk);
  payload.header = message.take();
  return payload;
}

/// About what the value takes in the header of a message.
template <class T>
std::size_t header_bytes(const T& value) {
  return detail::words_beside(value) * sizeof(capnp::word);
}

/// The header of such a message, of a value without Buffers.
template <class Schema, class T>
Buffer encode_versioned(const T& value) {
  Payload payload = versioned_payload<Schema>(value);
  WEFT_ASSERT(payload.bulk.empty());
  return std::move(payload.header);
}

/// Code::corrupt when the bytes, and the next of the bulk bytes for its Buffers, are no such message; `what` names it in the error.
template <class Schema, class T>
Result<T> decode_versioned(ByteView bytes, std::string_view what, detail::ReadContext& context) {
  return read_message<capnp::AnyPointer>(bytes, what, [&context](capnp::AnyPointer::Reader in) -> Result<T> {
    const detail::WireStruct& wire = detail::wire_struct<T>(capnp::Schema::from<Schema>());
    T value{};
    detail::StructReader::read(in.getAs<capnp::AnyStruct>(), wire, value, context);
    return value;
  });
}
/// The same, of a message with these bulk bytes. With `skipped` elements of unknown kinds are left out, where T::kSkipsUnknown
/// allows it, and counted there.
template <class Schema, class T>
Result<T> decode_versioned(ByteView bytes, std::string_view what, ByteView bulk = {}, unsigned* skipped = nullptr) {
  detail::ReadContext context{BulkReader(bulk), skipped != nullptr, 0};
  Result<T> value = decode_versioned<Schema, T>(bytes, what, context);
  if (skipped != nullptr) *skipped = context.skipped;
  return value;
}

}  // namespace weft::rpc

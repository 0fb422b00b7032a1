#include "base/rpc/capnp.hpp"

#include <cstring>

#include <fmt/core.h>
#include <kj/io.h>

#include "base/assert.hpp"
#include "base/rpc/versioned.hpp"

namespace weft::rpc {

Buffer flatten(capnp::MessageBuilder& message) {
  Buffer buffer(capnp::computeSerializedSizeInWords(message) * sizeof(capnp::word));
  kj::ArrayOutputStream stream(kj::arrayPtr(reinterpret_cast<kj::byte*>(buffer.data()), buffer.size()));
  capnp::writeMessage(stream, message);
  WEFT_ASSERT(stream.getArray().size() == buffer.size());
  return buffer;
}

namespace detail {

kj::ArrayPtr<const capnp::word> words_of(ByteView bytes, Buffer& aligned) {
  KJ_REQUIRE(bytes.size() % sizeof(capnp::word) == 0 && !bytes.empty(), "the message is not a whole number of words");
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
    aligned = Buffer::copy_of(bytes);
    bytes = aligned.view();
  }
  return kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.data()), bytes.size() / sizeof(capnp::word));
}

capnp::ReaderOptions reader_options(ByteView bytes) {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = bytes.size() / sizeof(capnp::word) * 8 + 8192;
  options.nestingLimit = 64;
  return options;
}

Error malformed(std::string_view what, const kj::Exception& exception) {
  const auto description = exception.getDescription();
  return Error(Code::corrupt, fmt::format("malformed {}: {}", what, std::string_view(description.cStr(), description.size())));
}

WireStruct::WireStruct(capnp::StructSchema of) : schema(of) {
  const auto shape = of.getProto().getStruct();
  words = shape.getDataWordCount();
  pointers = shape.getPointerCount();
  choice = shape.getDiscriminantOffset();
  WEFT_ASSERT(shape.getDiscriminantCount() == 0 || shape.getDiscriminantCount() == of.getFields().size());
  for (const auto field : of.getFields()) {
    WEFT_ASSERT(field.getProto().isSlot());
    fields.push_back({field.getType(), field.getProto().getSlot().getOffset()});
  }
}

}  // namespace detail
}  // namespace weft::rpc

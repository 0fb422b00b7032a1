#include "base/rpc/capnp.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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

FlatMessage::FlatMessage(std::size_t words) : flat_((words + 1) * sizeof(capnp::word)) {
  std::memset(flat_.data(), 0, flat_.size());
}

kj::ArrayPtr<capnp::word> FlatMessage::allocateSegment(unsigned minimum) {
  const std::size_t words = flat_.size() / sizeof(capnp::word) - 1;
  if (!std::exchange(begun_, true) && minimum <= words)
    return kj::arrayPtr(reinterpret_cast<capnp::word*>(flat_.data()) + 1, words);
  constexpr unsigned kLeast = 1024;
  auto& more = others_.emplace_back(kj::heapArray<capnp::word>(std::max(minimum, kLeast)));
  std::memset(more.begin(), 0, more.asBytes().size());
  return more;
}

Buffer FlatMessage::take() {
  const auto segments = getSegmentsForOutput();
  if (segments.size() != 1 || !others_.empty()) return flatten(*this);
  const auto words = static_cast<std::uint32_t>(segments[0].size());
  const std::uint32_t table[2] = {0, words};  // one segment less than there are, and its words
  static_assert(sizeof(table) == sizeof(capnp::word));
  std::memcpy(flat_.data(), table, sizeof(table));
  flat_.truncate((std::size_t{words} + 1) * sizeof(capnp::word));
  return std::move(flat_);
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
  options.traversalLimitInWords = bytes.size() / sizeof(capnp::word) * 8 + 512;
  options.nestingLimit = 64;
  return options;
}

Error malformed(std::string_view what, const kj::Exception& exception) {
  const auto description = exception.getDescription();
  return Error(Code::corrupt, fmt::format("malformed {}: {}", what, std::string_view(description.cStr(), description.size())));
}

WireStruct::WireStruct(capnp::StructSchema of) : schema(of) {
  const auto shape = of.getProto().getStruct();
  words = static_cast<std::uint16_t>(shape.getDataWordCount() + kLaterFields);
  pointers = static_cast<std::uint16_t>(shape.getPointerCount() + kLaterFields);
  choice = shape.getDiscriminantOffset();
  WEFT_ASSERT(shape.getDiscriminantCount() == 0 || shape.getDiscriminantCount() == of.getFields().size());
  for (const auto field : of.getFields()) {
    WEFT_ASSERT(field.getProto().isSlot());
    fields.push_back({field.getType(), field.getProto().getSlot().getOffset()});
  }
}

}  // namespace detail
}  // namespace weft::rpc

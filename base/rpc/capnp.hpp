// Between Cap'n Proto and weft: messages to Buffers and back. The only place where Cap'n Proto's exceptions become Results.
// For .cpp files only, like every generated schema header.
#pragma once

#include <type_traits>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::rpc {

/// The message as one flat array, as Payload::header and journal records want it.
Buffer flatten(capnp::MessageBuilder& message);

/// A message that lies in the array that take() returns, so that nothing of it is copied.
class FlatMessage final : public capnp::MessageBuilder {
 public:
  /// `words`: about as many as it takes. With more it is put together in the end.
  explicit FlatMessage(std::size_t words);
  ~FlatMessage() noexcept(false) override = default;
  /// Once, last.
  Buffer take();

 private:
  kj::ArrayPtr<capnp::word> allocateSegment(unsigned minimum) override;

  Buffer flat_;  // a word for the table of the segments, then the first segment
  std::vector<kj::Array<capnp::word>> others_;
  bool begun_ = false;
};

namespace detail {
/// The words of `bytes`; copied to `aligned` when they are not aligned to 8. Throws kj::Exception unless they are whole words.
kj::ArrayPtr<const capnp::word> words_of(ByteView bytes, Buffer& aligned);
/// Bounds what a hostile message can make a reader do: in proportion to its size, and 64 levels deep.
capnp::ReaderOptions reader_options(ByteView bytes);
Error malformed(std::string_view what, const kj::Exception& exception);
}  // namespace detail

/// Calls use(Schema::Reader) on the message in `bytes` and returns its Result. The reader is valid during the call only.
/// Malformed bytes, noticed at any point of the call, give Code::corrupt; `what` names the message in the error.
template <class Schema, class Use>
auto read_message(ByteView bytes, std::string_view what, Use&& use) -> std::invoke_result_t<Use, typename Schema::Reader> {
  try {
    Buffer aligned;
    capnp::FlatArrayMessageReader reader(detail::words_of(bytes, aligned), detail::reader_options(bytes));
    return use(reader.getRoot<Schema>());
  } catch (const kj::Exception& exception) {
    return fail(detail::malformed(what, exception));
  }
}

/// capnp::Text and Data as views (valid as long as the message).
inline std::string_view text_view(capnp::Text::Reader text) { return {text.cStr(), text.size()}; }
inline ByteView data_view(capnp::Data::Reader data) { return {reinterpret_cast<const std::byte*>(data.begin()), data.size()}; }
inline capnp::Data::Reader data_reader(ByteView bytes) {
  return {reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()};
}

}  // namespace weft::rpc

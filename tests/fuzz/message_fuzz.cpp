// libFuzzer entry: any bytes, as any message between processes, must be read or refused. The first byte chooses the message. The
// second chooses what it is made of: an odd one an example of it, in which the bytes that follow in threes change one byte each; an
// even one the bytes themselves, the last as many as it says as bulk.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "tests/releases/kinds.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  if (size < 2) return 0;
  const auto& kinds = releases::kinds();
  const releases::Kind& kind = std::next(kinds.begin(), data[0] % static_cast<std::ptrdiff_t>(kinds.size()))->second;
  const ByteView bytes{reinterpret_cast<const std::byte*>(data) + 2, size - 2};
  rpc::Message message;
  if (data[1] % 2 == 1) {
    const rpc::Message& example = *kind.examples[data[1] / 2 % kind.examples.size()];
    message.header = Buffer::copy_of(example.header.view());
    message.bulk = Buffer::copy_of(example.bulk.view());
    for (std::size_t at = 0; at + 3 <= bytes.size() && message.header.size() != 0; at += 3) {
      const std::size_t place = std::to_integer<std::size_t>(bytes[at]) << 8 | std::to_integer<std::size_t>(bytes[at + 1]);
      message.header.data()[place % message.header.size()] = bytes[at + 2];
    }
  } else {
    const std::size_t bulk = std::min<std::size_t>(data[1] / 2, bytes.size());
    message.header = Buffer::copy_of(bytes.first(bytes.size() - bulk));
    message.bulk = Buffer::copy_of(bytes.last(bulk));
  }
  static_cast<void>(kind.describe(message));
  return 0;
}

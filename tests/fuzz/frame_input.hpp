// What a peer could send, fed to the frame reader in pieces; used by the fuzzer and by a test with random inputs.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/rpc/frame_reader.hpp"

namespace weft::rpc::testing {

struct Fed {
  std::size_t frames = 0;
  bool refused = false;
};

/// Feeds `stream` in pieces of at most `step` bytes; frames are decoded as far as weft itself does.
inline Fed feed(ByteView stream, std::size_t step, FrameReader::Bounds bounds) {
  Fed fed;
  Buffer buffer(FrameReader::kReceiveBuffer);
  FrameReader reader(buffer.span(), bounds);
  while (!stream.empty()) {
    std::size_t filled = 0;
    for (const auto space : reader.space()) {
      const std::size_t part = std::min({space.size(), step - filled, stream.size()});
      if (part != 0) std::memcpy(space.data(), stream.data(), part);
      stream = stream.subspan(part);
      filled += part;
    }
    reader.received(filled);
    while (true) {
      auto frame = reader.next();
      if (!frame) {
        fed.refused = true;
        return fed;
      }
      if (!frame->has_value()) break;
      ++fed.frames;
      const auto header = (*frame)->header.view();
      if ((*frame)->head.kind == FrameKind::error) static_cast<void>(decode_error(header).to_string());
      if ((*frame)->head.kind == FrameKind::hello) static_cast<void>(decode_hello(header));
    }
  }
  return fed;
}

}  // namespace weft::rpc::testing

// The frame: what travels on a connection. Layout and rules are in docs/formats/frame.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// Of the frame itself. Messages have protocols (ProtocolRange).
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFixedSize = 40;
/// What the kernel passes with one message.
inline constexpr std::size_t kMaxFdsPerFrame = 253;

enum class FrameKind : std::uint8_t {
  hello = 1,    // first in each direction
  request = 2,  // wants a reply or an error of the same id
  reply = 3,
  error = 4,
  notify = 5,
  goodbye = 6,  // last: the sender closed in order
};

/// The fields of a frame's fixed part, apart from what is the same in all.
struct FrameHead {
  FrameKind kind = FrameKind::hello;
  std::uint8_t version = kFrameVersion;
  MessageType type = 0;
  std::uint64_t request_id = 0;
  std::uint32_t header_length = 0;
  std::uint16_t fd_count = 0;
  std::uint64_t bulk_length = 0;
};

using FixedPart = std::array<std::byte, kFixedSize>;

/// The fixed part with its checksum over itself and `header` (whose length is head.header_length).
FixedPart encode_head(const FrameHead& head, ByteView header);

/// Whether `start` (any length) can be the start of a frame; corrupt, quoting it, when it cannot.
Result<void> check_magic(ByteView start);
/// Everything except the checksum. corrupt, or version_mismatch for a frame (other than hello) of another version.
Result<FrameHead> decode_head(std::span<const std::byte, kFixedSize> fixed);
/// corrupt unless the checksum in `fixed` is that of fixed part and header.
Result<void> check_sum(std::span<const std::byte, kFixedSize> fixed, ByteView header);

/// "weft 0.1.0"
std::string software_version();

/// What a side sends about itself first.
struct Hello {
  std::string software = software_version();
  ProtocolRange protocols = kProtocols;
  friend bool operator==(const Hello&, const Hello&) = default;
};
Buffer encode_hello(const Hello& hello);
/// The software is cut and escaped: fit to be shown. corrupt when the range is none.
Result<Hello> decode_hello(ByteView header);
/// The highest protocol that both speak. Without one version_mismatch, which names both, their protocols, and what to upgrade.
Result<Protocol> common_protocol(const Hello& peer, const Hello& own);

/// The chain of an error as the header of an error reply, and back. Long chains and messages are cut.
Buffer encode_error(const Error& error);
Error decode_error(ByteView header);

}  // namespace weft::rpc

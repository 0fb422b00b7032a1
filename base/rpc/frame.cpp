#include "base/rpc/frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "base/rpc/capnp.hpp"
#include "base/rpc/frame.capnp.h"
#include "base/text.hpp"
#include "base/version.hpp"

namespace weft::rpc {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are little-endian and are copied as they are");

constexpr std::array<char, 4> kMagic{'W', 'E', 'F', 'T'};
constexpr std::size_t kVersionAt = 4, kKindAt = 5, kTypeAt = 6, kRequestAt = 8, kHeaderAt = 16, kFdsAt = 20, kFlagsAt = 22;
constexpr std::size_t kBulkAt = 24, kReservedAt = 32, kCrcAt = 36;
constexpr std::size_t kMaxChain = 32;
constexpr std::size_t kMaxMessage = 64u << 10;

template <class T>
void put(FixedPart& fixed, std::size_t at, T value) {
  std::memcpy(fixed.data() + at, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte, kFixedSize> fixed, std::size_t at) {
  T value;
  std::memcpy(&value, fixed.data() + at, sizeof value);
  return value;
}

std::uint32_t checksum(std::span<const std::byte, kFixedSize> fixed, ByteView header) {
  return crc32c(header, crc32c(fixed.first<kCrcAt>()));
}

std::string to_string(ProtocolRange protocols) {
  if (protocols.highest == 0) return "none";
  if (protocols.lowest == protocols.highest) return fmt::format("protocol {}", protocols.highest);
  return fmt::format("protocols {} to {}", protocols.lowest, protocols.highest);
}

bool known(FrameKind kind) { return kind >= FrameKind::hello && kind <= FrameKind::goodbye; }

Code known_code(std::uint8_t value) {
  return value >= static_cast<std::uint8_t>(Code::invalid_argument) && value <= static_cast<std::uint8_t>(Code::permission_denied)
             ? static_cast<Code>(value)
             : Code::internal;
}

}  // namespace

FixedPart encode_head(const FrameHead& head, ByteView header) {
  WEFT_ASSERT(header.size() == head.header_length);
  FixedPart fixed{};
  put(fixed, 0, kMagic);
  put(fixed, kVersionAt, head.version);
  put(fixed, kKindAt, head.kind);
  put(fixed, kTypeAt, head.type);
  put(fixed, kRequestAt, head.request_id);
  put(fixed, kHeaderAt, head.header_length);
  put(fixed, kFdsAt, head.fd_count);
  put(fixed, kBulkAt, head.bulk_length);
  put(fixed, kCrcAt, checksum(fixed, header));
  return fixed;
}

Result<void> check_magic(ByteView start) {
  const std::size_t length = std::min(start.size(), kMagic.size());
  if (length == 0 || std::memcmp(start.data(), kMagic.data(), length) == 0) return {};
  // A record of TLS: an alert or a handshake.
  if ((start[0] == std::byte{21} || start[0] == std::byte{22}) && (length == 1 || start[1] == std::byte{3}))
    return fail(Code::invalid_argument, "the peer encrypts its connections: this side needs --security DIR (or WEFT_SECURITY)");
  const auto quoted = escaped(as_chars(start.first(std::min<std::size_t>(start.size(), 16))));
  return fail(Code::corrupt, fmt::format("the peer does not speak weft's protocol (it sent \"{}\")", quoted));
}

Result<FrameHead> decode_head(std::span<const std::byte, kFixedSize> fixed) {
  WEFT_TRY(check_magic(fixed));
  FrameHead head;
  head.version = get<std::uint8_t>(fixed, kVersionAt);
  head.kind = get<FrameKind>(fixed, kKindAt);
  head.type = get<MessageType>(fixed, kTypeAt);
  head.request_id = get<std::uint64_t>(fixed, kRequestAt);
  head.header_length = get<std::uint32_t>(fixed, kHeaderAt);
  head.fd_count = get<std::uint16_t>(fixed, kFdsAt);
  head.bulk_length = get<std::uint64_t>(fixed, kBulkAt);
  if (head.version != kFrameVersion && head.kind != FrameKind::hello) {
    return fail(Code::version_mismatch,
                fmt::format("frame of version {}, this side reads version {}", head.version, kFrameVersion));
  }
  if (!known(head.kind)) return fail(Code::corrupt, fmt::format("frame of unknown kind {}", static_cast<unsigned>(head.kind)));
  if (get<std::uint16_t>(fixed, kFlagsAt) != 0) return fail(Code::corrupt, "frame with unknown flags");
  if (get<std::uint32_t>(fixed, kReservedAt) != 0) return fail(Code::corrupt, "frame with its reserved field in use");
  return head;
}

Result<void> check_sum(std::span<const std::byte, kFixedSize> fixed, ByteView header) {
  if (get<std::uint32_t>(fixed, kCrcAt) == checksum(fixed, header)) return {};
  return fail(Code::corrupt, "frame with a wrong checksum");
}

std::string software_version() { return "weft " + std::string(version()); }

Buffer encode_hello(const Hello& hello) {
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<wire::Hello>();
  out.setSoftware(capnp::Text::Reader(hello.software.c_str(), hello.software.size()));
  out.setLowest(hello.protocols.lowest);
  out.setHighest(hello.protocols.highest);
  return flatten(message);
}

Result<Hello> decode_hello(ByteView header) {
  return read_message<wire::Hello>(header, "handshake", [](wire::Hello::Reader hello) -> Result<Hello> {
    const ProtocolRange protocols{hello.getLowest(), hello.getHighest()};
    if (protocols.lowest > protocols.highest) return fail(Code::corrupt, "a handshake with an impossible range of protocols");
    return Hello{escaped(text_view(hello.getSoftware()).substr(0, 200)), protocols};
  });
}

Result<Protocol> common_protocol(const Hello& peer, const Hello& own) {
  const Protocol highest = std::min(peer.protocols.highest, own.protocols.highest);
  if (highest != 0 && highest >= peer.protocols.lowest && highest >= own.protocols.lowest) return highest;
  const char* what = "upgrade this side, or to a release in between first";
  if (peer.protocols.highest == 0)
    what = "upgrade the peer; a release without protocols cannot be upgraded while it runs, so end all of it first";
  else if (peer.protocols.highest < own.protocols.lowest)
    what = "upgrade the peer, or this side only to a release in between";
  return fail(Code::version_mismatch,
              fmt::format("no protocol in common: the peer is {} and speaks {}, this is {} and speaks {}: {}", peer.software,
                          to_string(peer.protocols), own.software, to_string(own.protocols), what));
}

Buffer encode_error(const Error& error) {
  std::vector<const Error*> links;
  for (const Error* link = &error; link != nullptr && links.size() < kMaxChain; link = link->cause()) links.push_back(link);
  capnp::MallocMessageBuilder message;
  auto chain = message.initRoot<wire::ErrorReply>().initChain(static_cast<unsigned>(links.size()));
  for (unsigned i = 0; i < links.size(); ++i) {
    const std::string text = links[i]->message().substr(0, kMaxMessage);
    chain[i].setCode(static_cast<std::uint8_t>(links[i]->code()));
    chain[i].setMessage(capnp::Text::Reader(text.c_str(), text.size()));
  }
  return flatten(message);
}

Error decode_error(ByteView header) {
  auto decoded = read_message<wire::ErrorReply>(header, "error reply", [](wire::ErrorReply::Reader reply) -> Result<Error> {
    const auto chain = reply.getChain();
    const auto size = std::min<unsigned>(chain.size(), kMaxChain);
    if (size == 0) return fail(Code::corrupt, "error reply without an error");
    const auto code = [&](unsigned i) { return known_code(chain[i].getCode()); };
    const auto text = [&](unsigned i) { return std::string(text_view(chain[i].getMessage())); };
    Error error(code(size - 1), text(size - 1));
    for (unsigned i = size - 1; i-- > 0;) error = std::move(error).wrap(code(i), text(i));
    return error;
  });
  return decoded ? std::move(decoded).value() : std::move(decoded).error();
}

}  // namespace weft::rpc

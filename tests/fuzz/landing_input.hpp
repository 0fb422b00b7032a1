// Replies to a request for map outputs, honest and lying ones, made from any bytes and landed in pieces of any size; used by the
// fuzzer and by tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <capnp/message.h>
#include <lz4.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer/receive_buffer.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle::fuzz {

/// The bytes that everything is decided by, one after the other; zeros behind their end.
class Choices {
 public:
  explicit Choices(ByteView bytes) : bytes_(bytes) {}
  bool left() const { return !bytes_.empty(); }
  /// In [0, bound), `bound` at most 256.
  std::uint32_t below(std::uint32_t bound) {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<std::uint32_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return value % bound;
  }

 private:
  ByteView bytes_;
};

/// One extent as a reply announces it, and what follows for it.
struct SentExtent {
  std::uint32_t map = 0;
  std::uint32_t records = 0;
  std::uint64_t raw = 0;
  std::uint32_t crc32c = 0;
  bool compressed = false;
  std::uint64_t stored_as = 0;  // what the reply says
  std::string stored;
};

inline SentExtent sent_extent(std::uint32_t map, const std::string& raw, bool compressed) {
  SentExtent extent{map, 1, raw.size(), crc32c(as_bytes(raw)), compressed, raw.size(), raw};
  if (compressed) {
    extent.stored.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(raw.size()))));
    extent.stored.resize(static_cast<std::size_t>(LZ4_compress_default(
        raw.data(), extent.stored.data(), static_cast<int>(raw.size()), static_cast<int>(extent.stored.size()))));
    extent.stored_as = extent.stored.size();
  }
  return extent;
}

/// A reply as a worker sends it.
struct SentReply {
  std::vector<SentExtent> extents;
  bool complete = true;
  ReceiveBuffer::Position next{};

  Buffer header() const {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<Blocks>();
    auto list = root.initExtents(static_cast<unsigned>(extents.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setMap(extents[i].map);
      list[i].setRecords(extents[i].records);
      list[i].setRawLength(extents[i].raw);
      list[i].setStoredLength(extents[i].stored_as);
      list[i].setCrc32c(extents[i].crc32c);
      list[i].setCompressed(extents[i].compressed);
    }
    root.setComplete(complete);
    root.setNextMap(next.first);
    root.setNextExtent(next.second);
    return rpc::flatten(message);
  }
  std::string bulk() const {
    std::string bytes;
    for (const SentExtent& extent : extents) bytes += extent.stored;
    return bytes;
  }
};

/// As the frame reader does: `piece()` says how much the socket has each time, 0 for all.
template <class Piece>
Result<bool> land(ReceiveBuffer& landing, const SentReply& reply, Piece piece) {
  const Buffer header = reply.header();
  const std::string bulk = reply.bulk();
  ByteView left = as_bytes(bulk);
  if (!left.empty()) landing.begin(header.view(), left.size());
  while (!left.empty()) {
    const std::size_t most = piece();
    const MutableBytes room = landing.room(left.size());
    std::size_t step = std::min(most == 0 ? left.size() : most, left.size());
    if (!room.empty()) {
      step = std::min(step, room.size());
      std::memcpy(room.data(), left.data(), step);
      landing.filled(step);
    }
    left = left.subspan(step);
  }
  return landing.arrived(header.view());
}

inline std::string some_bytes(Choices& choices) {
  static constexpr std::uint32_t kSizes[] = {0, 1, 17, 255, 4'000, 4'096, 5'000, 70'000, 262'144, 300'000};
  const std::uint32_t size = kSizes[choices.below(std::size(kSizes))] + choices.below(32);
  const std::uint32_t kind = choices.below(3);
  std::string bytes(size, static_cast<char>('a' + choices.below(26)));
  Random random(size, kind);
  if (kind != 0)  // incompressible, or its first half is
    for (std::size_t i = 0; i < (kind == 1 ? size : size / 2); ++i) bytes[i] = static_cast<char>(random());
  return bytes;
}

inline void lie(SentReply& reply, Choices& choices) {
  static constexpr std::uint64_t kLengths[] = {0, 1, 4'095, 4'097, 100'000, 1u << 20, (1u << 30) + 1, ~std::uint64_t{0}};
  const auto length = [&] { return kLengths[choices.below(std::size(kLengths))]; };
  for (SentExtent& extent : reply.extents) {
    switch (choices.below(16)) {
      case 0:
        extent.raw = length();
        break;
      case 1:
        extent.stored_as = length();
        break;
      case 2:
        extent.raw = extent.stored_as = length();
        break;
      case 3:
        extent.compressed = !extent.compressed;
        break;
      case 4:
        extent.map = choices.below(8);
        break;
      case 5:
        extent.crc32c ^= 1u + choices.below(255);
        break;
      case 6:
        extent.stored.resize(extent.stored.size() / 2);
        break;
      case 7:
        extent.stored += std::string(choices.below(256) * 100, 'x');
        break;
      default:
        if (!extent.stored.empty()) extent.stored[choices.below(256) % extent.stored.size()] ^= 1;
    }
  }
  if (choices.below(4) == 0) reply.next = {choices.below(8), choices.below(8)};
  if (choices.below(4) == 0) reply.complete = !reply.complete;
}

struct Landed {
  bool honest = true;
  Result<bool> arrived = false;
  std::vector<std::string> expected;  // by map
  std::vector<std::string> found;     // likewise, of what was sealed; each extent verified
};

/// Several replies of one fetch. What a peer sends never lands but where room was reserved for it (that would end the process), and
/// what is sealed is what was sent.
inline Landed land_by(Choices choices, const std::shared_ptr<SharedPool>& pool) {
  Landed landed;
  landed.honest = choices.below(2) == 0;
  const std::uint32_t maps = 1 + choices.below(4);
  landed.expected.resize(maps);
  ReceiveBuffer landing(maps, pool);
  ReceiveBuffer::Position at{};
  for (bool complete = false; !complete;) {
    SentReply reply;
    for (std::uint32_t count = 1 + choices.below(12); count > 0; --count) {
      if (choices.below(4) == 0 && at.first + 1 < maps) at = {at.first + 1, 0};
      const std::string raw = some_bytes(choices);
      reply.extents.push_back(sent_extent(at.first, raw, choices.below(2) == 1));
      landed.expected[at.first] += raw;
      ++at.second;
    }
    reply.next = at;
    reply.complete = complete = !choices.left();
    if (!landed.honest) lie(reply, choices);
    landed.arrived =
        land(landing, reply, [&]() -> std::size_t { return choices.left() ? choices.below(256) * std::size_t{997} : 0; });
    if (!landed.arrived || *landed.arrived) break;
  }
  if (!landed.arrived || !*landed.arrived) return landed;
  auto sealed = landing.seal();
  if (!sealed) {
    landed.arrived = fail(std::move(sealed).error());
    return landed;
  }
  const auto segment = Segment::open(std::move(sealed->fd));
  WEFT_ASSERT(segment);
  for (std::uint32_t map = 0; map < (*segment)->partitions(); ++map) {
    std::string& bytes = landed.found.emplace_back();
    for (const Extent& extent : (*segment)->extents(map)) {
      const auto whole = verified(**segment, extent);
      WEFT_ASSERT(whole);
      bytes += as_chars(*whole);
    }
  }
  return landed;
}

}  // namespace weft::shuffle::fuzz

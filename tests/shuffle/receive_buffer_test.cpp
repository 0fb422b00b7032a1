#include "shuffle/transfer/receive_buffer.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/sanitized.hpp"
#include "tests/fuzz/landing_input.hpp"

namespace weft::shuffle {
namespace {

using fuzz::land;
using fuzz::sent_extent;

/// Zeros compress well, random bytes do not.
std::string incompressible(std::size_t size) {
  std::string bytes(size, '\0');
  Random random(size);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string landed(ReceiveBuffer& landing) {
  auto sealed = landing.seal();
  if (!sealed) return "not sealed: " + sealed.error().to_string();
  const auto segment = Segment::open(std::move(sealed->fd));
  if (!segment) return "not opened: " + segment.error().to_string();
  std::string bytes;
  for (std::uint32_t map = 0; map < (*segment)->partitions(); ++map)
    for (const Extent& extent : (*segment)->extents(map)) {
      const auto whole = verified(**segment, extent);
      bytes += whole ? std::string(as_chars(*whole)) : "damaged";
    }
  return bytes;
}

std::shared_ptr<SharedPool> pool() { return std::make_shared<SharedPool>(4u << 20); }

/// What a worker sends of records that compress only here and there: runs of bare extents, compressed ones and empty ones between.
fuzz::SentReply mixed(std::size_t scale, std::string& expected) {
  fuzz::SentReply reply;
  const auto add = [&](std::uint32_t map, const std::string& raw, bool compressed) {
    reply.extents.push_back(sent_extent(map, raw, compressed));
    expected += raw;
  };
  add(0, incompressible(3 * scale), false);
  add(0, incompressible(5 * scale), false);
  add(0, "", false);
  add(0, std::string(20 * scale, 'z'), true);
  add(0, incompressible(40 * scale), false);
  add(1, incompressible(7 * scale), false);
  add(1, std::string(9 * scale, 'y'), true);
  add(2, "", true);
  add(2, incompressible(2 * scale), false);
  return reply;
}

TEST(ReceiveBuffer, TakesBareAndCompressedExtentsByTurnsHoweverLarge) {
  for (const std::size_t scale : {10u, 100u, 1'000u, 5'000u, 20'000u, 100'000u})
    for (const std::size_t piece : {0u, 999u, 4'096u, 65'536u, 262'144u}) {
      if (piece == 999 && scale > 5'000) continue;
      SCOPED_TRACE(std::to_string(scale) + " in pieces of " + std::to_string(piece));
      std::string expected;
      const auto reply = mixed(scale, expected);
      ReceiveBuffer landing(3, pool());
      const auto arrived = land(landing, reply, [piece] { return piece; });
      ASSERT_TRUE(arrived) << arrived.error().to_string();
      EXPECT_TRUE(*arrived);
      EXPECT_TRUE(landed(landing) == expected);
    }
}

TEST(ReceiveBuffer, TakesThemCutAtAnyByte) {
  std::string expected;
  const auto reply = mixed(50, expected);
  const std::size_t bytes = reply.bulk().size();
  for (std::size_t cut = 0; cut <= bytes; ++cut) {
    ReceiveBuffer landing(3, pool());
    bool first = true;
    const auto arrived = land(landing, reply, [&] { return std::exchange(first, false) ? cut : 0; });
    ASSERT_TRUE(arrived && *arrived) << "cut at " << cut;
    ASSERT_TRUE(landed(landing) == expected) << "cut at " << cut;
  }
}

/// A reply that ends early, as its peer dies, is asked for again from where the last good extent ended.
TEST(ReceiveBuffer, GoesOnBehindTheLastWholeExtentWhereverAReplyBreaksOff) {
  std::string expected;
  const auto reply = mixed(50, expected);
  const std::string bulk = reply.bulk();
  for (std::size_t cut = 1; cut < bulk.size(); cut += 7) {
    ReceiveBuffer landing(3, pool());
    const Buffer header = reply.header();
    landing.begin(header.view(), bulk.size());
    for (ByteView left = as_bytes(bulk).first(cut); !left.empty();) {
      const MutableBytes room = landing.room(left.size());
      const std::size_t step = std::min(room.size(), left.size());
      ASSERT_NE(step, 0u);
      std::memcpy(room.data(), left.data(), step);
      landing.filled(step);
      left = left.subspan(step);
    }
    fuzz::SentReply rest;
    std::uint32_t map = 0, of_map = 0;
    for (const auto& extent : reply.extents) {
      if (extent.map != map) map = extent.map, of_map = 0;
      if (ReceiveBuffer::Position{map, of_map++} >= landing.position()) rest.extents.push_back(extent);
    }
    const auto arrived = land(landing, rest, [] { return std::size_t{100}; });
    ASSERT_TRUE(arrived && *arrived) << "cut at " << cut;
    ASSERT_TRUE(landed(landing) == expected) << "cut at " << cut;
  }
}

/// A little of what tests/fuzz/landing_fuzz.cpp does.
TEST(ReceiveBuffer, HonestRepliesLandWholeAndLyingOnesHarmNobody) {
  const bool longer = std::getenv("WEFT_LONG") != nullptr;
  const std::uint64_t seed = longer ? static_cast<std::uint64_t>(::getpid()) : 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const auto shared = pool();
  const std::uint64_t rounds = longer ? 20'000 : kSanitized ? 150 : 500;
  std::uint64_t whole = 0, refused = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(seed, round);
    std::string choices(20 + random.below(300), '\0');
    for (char& choice : choices) choice = static_cast<char>(random());
    const auto result = fuzz::land_by(fuzz::Choices(as_bytes(choices)), shared);
    if (result.honest) {
      ASSERT_TRUE(result.arrived) << result.arrived.error().to_string();
      ASSERT_TRUE(result.found == result.expected);
      ++whole;
    } else if (!result.arrived) {
      ++refused;
    }
  }
  EXPECT_GT(whole, rounds / 5);
  EXPECT_GT(refused, rounds / 5);
}

TEST(ReceiveBuffer, LiesOfAReplyAreNamed) {
  const auto refusal = [](const fuzz::SentReply& reply) {
    ReceiveBuffer landing(3, pool());
    const auto arrived = land(landing, reply, [] { return std::size_t{0}; });
    return arrived ? std::string("arrived") : arrived.error().to_string();
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  fuzz::SentReply back{{sent_extent(0, "a", false), sent_extent(1, "b", false)}, false, {1, 0}};
  EXPECT_TRUE(has(refusal(back), "leads nowhere")) << "the extent that came would come again, for ever";
  back.next = {3, 0};
  EXPECT_TRUE(has(refusal(back), "leads nowhere"));
  back.next = {1, 1};
  EXPECT_EQ(refusal(back), "arrived");
  fuzz::SentReply huge{{sent_extent(0, std::string(1'000, 'z'), true)}, true, {}};
  huge.extents[0].raw = 255 * (huge.extents[0].stored_as + 17);
  EXPECT_TRUE(has(refusal(huge), "impossible length")) << refusal(huge);
  fuzz::SentReply more{{sent_extent(0, "a", false)}, true, {}};
  more.extents[0].stored += "b";
  EXPECT_TRUE(has(refusal(more), "bytes without an extent")) << refusal(more);
}

}  // namespace
}  // namespace weft::shuffle

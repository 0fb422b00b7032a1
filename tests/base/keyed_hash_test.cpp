#include "base/keyed_hash.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace weft {
namespace {

/// The key, the message and the result of the paper's appendix A, and two of its authors' table of results.
TEST(KeyedHash, IsThatOfThePaper) {
  const HashKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
  std::array<std::byte, 15> message{};
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  const ByteView bytes(message.data(), message.size());
  EXPECT_EQ(keyed_hash(key, bytes), 0xa129ca6149be45e5ULL);
  EXPECT_EQ(keyed_hash(key, bytes.first(0)), 0x726fdb47dd0e0e31ULL);
  EXPECT_EQ(keyed_hash(key, bytes.first(8)), 0x93f5f5799a932462ULL);
}

TEST(KeyedHash, DependsOnTheWholeKeyAndOnEachByte) {
  const std::array<std::byte, 9> message{};
  const ByteView bytes(message.data(), message.size());
  std::set<std::uint64_t> hashes{keyed_hash({1, 2}, bytes), keyed_hash({2, 2}, bytes), keyed_hash({1, 3}, bytes),
                                 keyed_hash({1, 2}, bytes.first(8))};
  for (std::size_t i = 0; i < message.size(); ++i) {
    auto other = message;
    other[i] = std::byte{1};
    hashes.insert(keyed_hash({1, 2}, {other.data(), other.size()}));
  }
  EXPECT_EQ(hashes.size(), 4 + message.size());
}

}  // namespace
}  // namespace weft

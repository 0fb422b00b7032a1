#include "base/keyed_hash.hpp"

#include <bit>
#include <cstddef>

namespace weft {
namespace {

/// The four words of the state, and the rounds on them.
struct SipState {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (; count > 0; --count) {
      v0 += v1, v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0, v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1, v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2, v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  }
  void absorb(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

std::uint64_t little_endian(ByteView bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) word = word << 8U | std::to_integer<std::uint64_t>(bytes[i - 1]);
  return word;
}

}  // namespace

std::uint64_t keyed_hash(const HashKey& key, ByteView bytes) {
  SipState state{key.low ^ 0x736f6d6570736575ULL, key.high ^ 0x646f72616e646f6dULL, key.low ^ 0x6c7967656e657261ULL,
                 key.high ^ 0x7465646279746573ULL};
  const std::uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) state.absorb(little_endian(bytes.first(8)));
  state.absorb(length << 56U | little_endian(bytes));
  state.v2 ^= 0xffU;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace weft

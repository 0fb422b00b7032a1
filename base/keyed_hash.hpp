// A hash that nobody computes who does not know its key: for keys that stand for a right, made from what the right is about.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace weft {

/// 128 bits that nobody can guess (base/unguessable.hpp).
struct HashKey {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const HashKey&, const HashKey&) = default;
};

/// SipHash-2-4 of J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012). The hashes of many
/// messages say nothing about that of another. The same on every machine. Any thread.
std::uint64_t keyed_hash(const HashKey& key, ByteView bytes);

}  // namespace weft

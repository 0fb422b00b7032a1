// What a user's program shows a worker to write a chunk there: the master gives it with the chunk.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/keyed_hash.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// Known to a master and its workers. Zeros: none, of a master of an earlier release.
using WriteSecret = HashKey;

/// The key to write that chunk, which nobody computes who does not know the secret; never 0.
inline std::uint64_t key_to_write(const WriteSecret& secret, ChunkId chunk) {
  const std::uint64_t id = chunk.value();
  const std::uint64_t key = keyed_hash(secret, {reinterpret_cast<const std::byte*>(&id), sizeof id});
  return key == 0 ? 1 : key;
}

}  // namespace weft::storage

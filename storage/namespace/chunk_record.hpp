// A chunk as the namespace knows it. Private to storage/namespace.
#pragma once

#include <vector>

#include "storage/namespace/tree.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

inline constexpr std::uint8_t kNotQueued = 255;

struct Chunk {
  ChunkInfo info;
  Entry* file = nullptr;      // null: of a file that is being written
  std::vector<NodeId> nodes;  // that have it, in order
  LeaseId lease{};
  std::uint8_t rank = kNotQueued;  // in the queue of what lacks replicas
  bool sealed = false;
  bool condemned = false;  // its file was removed
  bool blocked = false;    // no node could take a replica when last tried
  bool located = false;    // a node has it, whole or damaged
};

}  // namespace weft::storage

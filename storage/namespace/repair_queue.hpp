// Chunks with too few or too many replicas, in the order in which they are repaired. Private to storage/namespace.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "storage/namespace/chunk_record.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

/// All replicas lie in one rack: after everything that lacks replicas.
inline constexpr std::uint8_t kOneRack = kNotQueued - 1;

/// A chunk is in one of its lists at most, which the chunk's own fields say too.
class RepairQueue {
 public:
  /// Out of whatever list it is in.
  void remove(Chunk& chunk);
  /// It lacks replicas, and has `replicas`.
  void lacks(Chunk& chunk, std::size_t replicas);
  void only_one_rack(Chunk& chunk);
  /// It lacks some, but no node can take one now.
  void block(Chunk& chunk);
  void has_too_many(const Chunk& chunk) { surplus_.insert(chunk.info.id); }
  void is_missing(const Chunk& chunk) { missing_.insert(chunk.info.id); }

  /// Riskiest first.
  const std::set<std::pair<std::uint8_t, ChunkId>>& lacking() const { return lacking_; }
  const std::set<ChunkId>& surplus() const { return surplus_; }
  const std::set<ChunkId>& blocked() const { return blocked_; }
  std::size_t missing() const { return missing_.size(); }
  /// The blocked chunks to look at next, `most` at most; none while the last look was a moment ago.
  std::vector<ChunkId> blocked_in_turn(std::size_t most, Time now);

 private:
  std::set<std::pair<std::uint8_t, ChunkId>> lacking_;  // how many replicas it has
  std::set<ChunkId> blocked_, surplus_, missing_;
  Time blocked_due_{0};
  ChunkId last_retried_;
};

}  // namespace weft::storage

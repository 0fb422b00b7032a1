// Ids of entries, leases, chunks and nodes. Private to storage/namespace.
#pragma once

#include <cstdint>
#include <utility>

#include "storage/namespace/types.hpp"

namespace weft::storage {

/// Gives out ids that were never given out before, over restarts neither.
class Ids {
 public:
  /// What is kept over a restart: the next of each.
  struct Record {
    std::uint64_t next_entry = 2, next_lease = 1, chunk_limit = 1, next_node = 1;
  };

  EntryId entry() { return EntryId(next(record_.next_entry)); }
  LeaseId lease() { return LeaseId(next(record_.next_lease)); }
  /// Reserved in the record many at a time, so that few writes change it.
  ChunkId chunk() {
    if (next_chunk_ == record_.chunk_limit) {
      record_.chunk_limit += kChunksAtOnce;
      changed_ = true;
    }
    return ChunkId(next_chunk_++);
  }
  /// What chunk() gives next.
  ChunkId coming_chunk() const { return ChunkId(next_chunk_); }
  /// Nodes get theirs elsewhere.
  void used(NodeId node) {
    if (record_.next_node > node.value()) return;
    record_.next_node = node.value() + 1;
    changed_ = true;
  }

  const Record& record() const { return record_; }
  /// The record is another one than at the last call.
  bool take_changed() { return std::exchange(changed_, false); }
  void restore(const Record& record) {
    record_ = record;
    next_chunk_ = record.chunk_limit;  // those given out since it was written are not known: never again
  }

 private:
  std::uint64_t next(std::uint64_t& from) {
    changed_ = true;
    return from++;
  }

  static constexpr std::uint64_t kChunksAtOnce = 1024;

  Record record_;
  std::uint64_t next_chunk_ = 1;
  bool changed_ = false;
};

}  // namespace weft::storage

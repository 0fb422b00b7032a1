// The index of one data directory: which chunks are in it. The only place here that knows RocksDB. For .cpp files.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// A cache of what the footers of the chunk files say: losing any of it costs time at the next open and nothing else, so writes are
/// not synced. After a write that failed every later one fails. Any thread.
class ChunkIndex {
 public:
  /// Opens or creates. corrupt: the database is damaged; resource_exhausted: its disk is full; io: anything else. On a full disk
  /// it can be read, and the first write fails.
  static Result<std::unique_ptr<ChunkIndex>> open(const std::filesystem::path& path);
  virtual ~ChunkIndex() = default;

  /// In order of ids.
  virtual Result<std::vector<ChunkInfo>> load() const = 0;
  virtual Result<void> put(const ChunkInfo& info) = 0;
  virtual Result<void> erase(ChunkId id) = 0;
  /// The chunk that the scrubber has reached; 0 at first.
  virtual Result<ChunkId> scrubbed() const = 0;
  virtual Result<void> set_scrubbed(ChunkId id) = 0;
};

}  // namespace weft::storage

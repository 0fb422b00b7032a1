// Prefetched blocks that must leave memory: one file for the blocks of a partition, compressed, until they are wanted
// again. Private to the prefetcher.
//
// The file has no name and holds bytes only, LZ4 extent by extent where that saves an eighth. What is where, and the checksum of
// each extent, stays in memory: nothing of it outlives the process, and nothing that comes back damaged is taken for good.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/store.hpp"

namespace weft::shuffle {

/// Blocks of one partition, of one fetch: `blocks` is a segment whose "partition" i holds the extents of maps[i].
struct HeldBlocks {
  SealedSegment blocks;
  std::vector<MapAttempt> maps;
  std::shared_ptr<const SegmentRoom> room;  // in the store's budget
};
/// Immutable, any thread.
using HeldPtr = std::shared_ptr<const HeldBlocks>;

/// One thread at a time. The file is gone with the object.
class EvictionFile {
 public:
  /// Writes the blocks to a file in `directory`. resource_exhausted or io when the disk does not take them.
  static Result<std::unique_ptr<EvictionFile>> write(const std::string& directory, std::span<const HeldPtr> blocks);
  virtual ~EvictionFile() = default;

  /// The blocks again, in fresh memory that `room` stands for. corrupt: the file is not what was written.
  virtual Result<std::vector<HeldPtr>> read(std::shared_ptr<const SegmentRoom> room) const = 0;
  virtual bool has(const MapAttempt& map) const = 0;
  /// What the blocks took of memory, and take again at most.
  std::uint64_t memory_bytes() const { return memory_bytes_; }
  std::uint64_t file_bytes() const { return file_bytes_; }

 protected:
  EvictionFile() = default;

  std::uint64_t memory_bytes_ = 0, file_bytes_ = 0;
};

}  // namespace weft::shuffle

// A segment holds all the output of one map attempt: extents of encoded records, each belonging to one partition, and an index.
// It lives in a memfd (default) or in a file; both are read by mapping. Layout: docs/formats/segment.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::shuffle {

/// A run of whole encoded records of one partition. Extents of a partition keep the order in which they were appended.
struct Extent {
  std::uint32_t partition = 0;
  std::uint32_t records = 0;
  std::uint64_t offset = 0;  // within the segment
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;  // of the bytes
};

/// Bytes and records of one partition of one map's output; what the master and the schedulers see.
struct PartitionSize {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

struct SealedSegment {
  Fd fd;                   // readable from offset 0, sealed against writing when a memfd
  std::uint64_t size = 0;  // whole file
  std::vector<PartitionSize> partitions;
};

/// How much of a segment may lie in memory (not 0). A larger one moves to an unlinked file in `directory` while it is written.
struct SegmentMemory {
  std::uint64_t bytes = UINT64_MAX;
  std::string directory;
};

/// Writes one segment. One thread. Destroying it unsealed discards it.
class SegmentWriter {
 public:
  static Result<std::unique_ptr<SegmentWriter>> in_memory(std::uint32_t partitions, SegmentMemory memory = {});
  /// An unlinked temporary file in `directory`.
  static Result<std::unique_ptr<SegmentWriter>> on_disk(const std::string& directory, std::uint32_t partitions);
  virtual ~SegmentWriter() = default;

  /// Appends one extent. resource_exhausted when memory or disk is full.
  virtual Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) = 0;
  /// Writes index and footer. The writer is finished afterwards.
  virtual Result<SealedSegment> seal() = 0;
  virtual std::uint64_t bytes() const = 0;
};

/// A sealed segment mapped for reading. Immutable, any thread; shared by whoever reads it.
class Segment {
 public:
  /// Maps and checks header, footer, index bounds and the index checksum: corrupt or version_mismatch otherwise.
  static Result<std::shared_ptr<const Segment>> open(Fd fd);
  virtual ~Segment() = default;

  virtual std::uint32_t partitions() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual int fd() const = 0;
  virtual std::span<const Extent> extents(std::uint32_t partition) const = 0;
  /// The bytes of an extent, unverified.
  virtual ByteView bytes(const Extent& extent) const = 0;
  /// In a sealed memfd; otherwise in a file.
  virtual bool in_memory() const = 0;
  /// The extent is not needed soon: its pages leave this process's resident set (of a file, they stay in the page cache).
  virtual void forget(const Extent& extent) const = 0;
};

/// Code::corrupt when the bytes do not match the extent's checksum.
Result<void> verify(ByteView bytes, const Extent& extent);

namespace detail {
/// A file in `directory` that is gone when its last descriptor is closed.
Result<Fd> unlinked_file(const std::string& directory);
}  // namespace detail

}  // namespace weft::shuffle

// A segment holds all the output of one map attempt: extents of encoded records, each belonging to one partition, and an index.
// It lives in a memfd or in a file, both read by mapping (layout: docs/formats/segment.md), or, where writer and readers are one
// process, in that process's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/page_pool.hpp"
#include "base/result.hpp"

namespace weft::shuffle {

/// A run of whole encoded records of one partition. Extents of a partition keep the order in which they were appended.
struct Extent {
  std::uint32_t partition = 0;
  std::uint32_t records = 0;
  std::uint64_t offset = 0;  // within the segment; only the segment knows from where
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;  // of the bytes; 0 in a segment that never leaves its process
};

/// Bytes and records of one partition of one map's output; what the master and the schedulers see.
struct PartitionSize {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

class Segment;

struct SealedSegment {
  Fd fd;                   // readable from offset 0, sealed against writing when a memfd
  std::uint64_t size = 0;  // whole file, or memory; of blocks that were fetched, unused bytes included
  std::vector<PartitionSize> partitions;
  std::shared_ptr<const Segment> in_process{};  // instead of `fd`
  Duration write_time{0};                       // spent storing it, as far as the writer measures it
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
  /// Memory of this process from `pool`, in large pages where the system has them; moves to disk like in_memory().
  static Result<std::unique_ptr<SegmentWriter>> in_process(std::uint32_t partitions, SegmentMemory memory,
                                                           std::shared_ptr<PagePool> pool);
  virtual ~SegmentWriter() = default;

  /// Smaller extents are dearer to append, larger ones not cheaper.
  virtual std::size_t good_extent() const = 0;
  /// Room within the segment for the partition's next extent: append() of bytes that begin there does not copy them. Until then, or
  /// until the writer is gone, it stays the caller's. Empty when the segment has no such room.
  virtual MutableBytes room(std::uint32_t partition, std::size_t bytes) {
    (void)partition, (void)bytes;
    return {};
  }
  /// Appends one extent. resource_exhausted when memory or disk is full.
  virtual Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) = 0;
  /// Writes index and footer. The writer is finished afterwards.
  virtual Result<SealedSegment> seal() = 0;
  virtual std::uint64_t bytes() const = 0;
};

enum class SegmentHome : std::uint8_t {
  file,
  memory,   // a sealed memfd
  process,  // memory of this process alone; its extents have no checksums, since the bytes go nowhere where they could be damaged
};

/// Whether the descriptor is of a memfd that no process can shorten or change any more (SegmentHome::memory). Of any other file,
/// and of none, false; no file system is asked.
bool is_sealed_memory(int fd);

/// A sealed segment open for reading. Immutable, any thread; shared by its readers.
class Segment {
 public:
  /// Maps and checks header, footer, index bounds and the index checksum: corrupt or version_mismatch otherwise.
  static Result<std::shared_ptr<const Segment>> open(Fd fd);
  /// The same without keeping a descriptor, for a segment that is handed to no other process: fd() is invalid.
  static Result<std::shared_ptr<const Segment>> map(Fd fd);
  virtual ~Segment() = default;

  virtual SegmentHome home() const = 0;
  virtual std::uint32_t partitions() const = 0;
  /// Of the whole file, or what it takes of memory.
  virtual std::uint64_t size() const = 0;
  /// Invalid (-1) of SegmentHome::process, and where none is kept.
  virtual int fd() const = 0;
  /// The same mapped bytes without a descriptor; this one's is closed when its last holder lets go of it. Null of
  /// SegmentHome::process.
  virtual std::shared_ptr<const Segment> without_descriptor() const = 0;
  virtual std::span<const Extent> extents(std::uint32_t partition) const = 0;
  /// The bytes of an extent, unverified.
  virtual ByteView bytes(const Extent& extent) const = 0;
  /// The whole file as it would be sent; empty of SegmentHome::process.
  virtual ByteView file() const = 0;
  /// The same as an unlinked file in `directory`.
  virtual Result<Fd> to_file(const std::string& directory) const = 0;
  /// The extent is not needed soon: its pages leave this process's resident set (of a file, they stay in the page cache).
  virtual void forget(const Extent& extent) const = 0;
};

/// Those of one partition, of extents sorted by partition. O(log n), so that a segment takes no memory for partitions it has
/// nothing of.
std::span<const Extent> extents_of(std::span<const Extent> all, std::uint32_t partition);

/// Code::corrupt when the bytes do not match the extent's checksum.
Result<void> verify(ByteView bytes, const Extent& extent);
/// The extent's bytes, verified where they have a checksum. Of a file corrupt, too, when its disk does not deliver them: whoever
/// reads them without this call ends the process with SIGBUS then. So may whoever reads them after it, where a process that has the
/// file open for writing cuts it off: a process that serves others reads a copy, or leaves reading to the kernel.
Result<ByteView> verified(const Segment& segment, const Extent& extent);
/// The same in memory of this process, which nobody else can change or cut off.
Result<Buffer> verified_copy(const Segment& segment, const Extent& extent);
/// Code::corrupt when the disk does not deliver bytes of a segment's file, whatever they are.
Result<void> check_readable(const Segment& segment, ByteView bytes);
/// The same, with a copy of them in memory of this process.
Result<Buffer> readable_copy(const Segment& segment, ByteView bytes);

namespace detail {
/// invalid_argument for a number that no shuffle has.
Result<void> check_partitions(std::uint32_t partitions);
}  // namespace detail

}  // namespace weft::shuffle

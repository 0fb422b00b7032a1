// Files of which a server gives ranges of bytes, read with several requests under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage::http {

/// A request for a range of bytes, begun. Dropped before its end, it is cancelled.
class RangeRead {
 public:
  virtual ~RangeRead() = default;
  /// All bytes of the range. Once.
  virtual Result<std::string> finish() = 0;
  /// Before finish(): whether it would not block.
  virtual bool done() const { return false; }
  /// Takes back what finish() gave, when it is no longer needed: its memory may serve for a later read.
  virtual void recycle(std::string /*bytes*/) {}
};

/// Begins to read. `last`: nothing behind it is planned, so that this is the time to see whether the file is still the same.
using StartRange = std::function<std::unique_ptr<RangeRead>(std::uint64_t offset, std::uint64_t length, bool last)>;

/// A file of `size` bytes. Reads ahead what RemoteFile::will_read() announced, up to eight parts of `part_bytes`, four of them
/// under way at once, and twice as much each time when it is read in order without that. `read_ahead` counts the bytes that all
/// files of a store hold so; it outlives this.
std::unique_ptr<RemoteFile> read_ranges(std::uint64_t size, std::uint64_t part_bytes, std::atomic<std::uint64_t>& read_ahead,
                                        StartRange start);

}  // namespace weft::storage::http

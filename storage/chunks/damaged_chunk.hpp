// The file of a chunk of which some part is damaged: what can still be read of it. Page by page, it may complete other replicas.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// Any thread; calls block on the disk. Nothing is mapped, so a file that is cut short or a disk that fails is no signal.
class DamagedChunk {
 public:
  /// `fd` is the chunk's file, whole or not; `info` is what the namespace knows of the chunk.
  DamagedChunk(Fd fd, const ChunkInfo& info) : fd_(std::move(fd)), info_(info) {}

  /// The checksums of all pages, which fit the chunk's digest: those that the file holds or, when these are damaged, those of its
  /// bytes. corrupt when neither fit; io when the disk does not give them now.
  Result<std::vector<std::uint32_t>> checksums() const;
  /// The bytes of a range within the chunk as the file has them, unverified: zeros where it is too short or its disk gives none.
  Buffer read(std::uint64_t offset, std::uint64_t length) const;

 private:
  const Fd fd_;
  const ChunkInfo info_;
};

}  // namespace weft::storage

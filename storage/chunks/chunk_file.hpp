// The file of one chunk (docs/formats/chunk.md): its bytes, then the checksums of its pages, then a footer. A descriptor of
// it suffices to check every byte; nothing here needs the store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// The checksums of a chunk's pages while its bytes pass by.
class PageChecksums {
 public:
  void add(ByteView bytes);
  /// Includes the checksum of an unfinished last page.
  std::vector<std::uint32_t> finish() const;
  std::uint64_t length() const { return length_; }

 private:
  std::vector<std::uint32_t> pages_;
  std::uint32_t current_ = 0;  // of the unfinished page
  std::uint64_t length_ = 0;
};

/// The digest of ChunkInfo.
std::uint32_t digest_of(const std::vector<std::uint32_t>& checksums);

/// What follows a chunk's bytes in its file. `cluster` is the hash of the cluster's id.
Buffer encode_trailer(const ChunkInfo& info, std::uint64_t cluster, const std::vector<std::uint32_t>& checksums);

/// The chunk that the end of a file names. corrupt: not a whole chunk file; version_mismatch: one of another format version.
struct ChunkFooter {
  ChunkInfo info;
  std::uint64_t cluster = 0;
};
Result<ChunkFooter> read_footer(int fd);
/// The size of the file of a chunk of that length.
std::uint64_t chunk_file_size(std::uint64_t length);

/// A sealed chunk, mapped. Immutable; any thread. The bytes stay as long as the object, also when the store erases the chunk.
/// Bytes that were not verified may be damaged. An error of the disk is an error of verify(), not a signal, because verify() brings
/// the pages in; only a page that must be read again later, and fails then, ends the process.
class ChunkFile {
 public:
  /// Checks the footer against `expected` and the checksums of the pages against its digest. corrupt: it is damaged, or another
  /// chunk.
  static Result<std::shared_ptr<const ChunkFile>> open(Fd fd, const ChunkInfo& expected);
  ~ChunkFile();
  ChunkFile(const ChunkFile&) = delete;
  ChunkFile& operator=(const ChunkFile&) = delete;

  const ChunkInfo& info() const { return info_; }
  const std::vector<std::uint32_t>& checksums() const { return checksums_; }
  int fd() const { return fd_.get(); }

  /// All the chunk's bytes, whether verified or not.
  ByteView bytes() const { return {data_, info_.length}; }
  /// Brings in and checks all pages that [offset, offset + length) touches. corrupt names chunk and page; invalid_argument: it ends
  /// behind the chunk.
  Result<void> verify(std::uint64_t offset, std::uint64_t length) const;
  /// Whether that range, which lies within the chunk, is in memory now, so that reading it waits for no disk.
  bool cached(std::uint64_t offset, std::uint64_t length) const;

 private:
  ChunkFile(Fd fd, const ChunkInfo& info, std::vector<std::uint32_t> checksums, const std::byte* data)
      : fd_(std::move(fd)), info_(info), checksums_(std::move(checksums)), data_(data) {}

  Fd fd_;
  ChunkInfo info_;
  std::vector<std::uint32_t> checksums_;
  const std::byte* data_;
};

/// Checks whole pages of a chunk that begin at `first_page`; the last may end the chunk. corrupt names chunk and page.
Result<void> verify_pages(ChunkId id, const std::vector<std::uint32_t>& checksums, std::uint64_t first_page, ByteView bytes);

}  // namespace weft::storage

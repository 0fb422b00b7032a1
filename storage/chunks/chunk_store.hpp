// The chunks of one worker, in files of one or more data directories (one per disk). RocksDB indexes them; the files are the truth,
// so a lost or damaged index is made again from them and nothing is lost. Layout and recovery: docs/formats/chunk.md.
//
// A chunk is visible when it is sealed, and then it is durable. What was being written when the process ended is gone at the next
// open. Every page is checked whenever it is read. A replica found damaged is set aside (quarantine), reported once, and never
// served again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"
#include "storage/chunks/chunk_file.hpp"
#include "storage/chunks/damaged_chunk.hpp"

namespace weft::storage {

/// Called after the fact, from any thread that uses the store or from its scrubber, one call at a time, in the order in which
/// things happened: all events together say what is here. Of chunks that were erased only the ids are given. Must not call the
/// store.
using ChunkListener = std::function<void(ChunkEvent, std::span<const ChunkInfo>)>;

struct ChunkStoreOptions {
  std::vector<std::filesystem::path> directories;  // made where missing
  std::string cluster_id;                          // 1 to 64 letters, digits, '-', '_' and '.'
  std::uint64_t reserve = std::uint64_t{1} << 30;  // bytes of each file system that are left free
  std::uint64_t scrub_rate = 8u << 20;             // bytes a second the scrubber reads, all directories together; 0: none
  std::chrono::nanoseconds scrub_interval = std::chrono::hours(24);  // at least, from the start of one pass to that of the next
  ChunkListener listener;
  /// A directory that could not be opened at first was opened now: list() has what is in it, of which there is no event. From a
  /// thread that calls space(). Must not call the store.
  std::function<void()> joined{};
};

struct StoredChunk {
  ChunkInfo info;
  std::uint32_t directory = 0;  // index into ChunkStoreOptions::directories
};

struct DirectorySpace {
  std::filesystem::path path;
  std::uint64_t capacity = 0;          // of the file system
  std::uint64_t available = 0;         // for new chunks: what is free less the reserve and what is being written
  std::uint64_t used = 0;              // by sealed chunks
  std::uint64_t chunks = 0;            // sealed
  std::uint64_t quarantined = 0;       // damaged chunks kept until they are erased
  std::optional<std::string> failure;  // why nothing is written here any more
};

/// A chunk being written. One thread at a time. Destroying it unsealed abandons it: no trace stays.
class ChunkAppender {
 public:
  virtual ~ChunkAppender() = default;
  /// resource_exhausted: the disk is full up to the reserve, or the chunk too long; io: the directory failed. After an error the
  /// chunk can only be abandoned. Bytes that come with an `owner`, which keeps them, may be written together with those that
  /// follow: the page cache keeps what one call wrote as one large page, and mapping those is cheap. Their error may be that of a
  /// later call.
  virtual Result<void> append(ByteView bytes, std::shared_ptr<const void> owner = nullptr) = 0;
  virtual std::uint64_t length() const = 0;
  /// Makes it durable, then visible; blocks for as long as that takes. corrupt when it is not what `expected` says (then it is
  /// abandoned).
  virtual Result<ChunkInfo> seal(const std::optional<ChunkInfo>& expected = std::nullopt) = 0;
};

/// Any thread. Calls block on disks.
class ChunkStore {
 public:
  /// One line says what is wrong: a directory of another cluster or format version (version_mismatch), in use by another process
  /// (already_exists), or no directory that works. A directory that fails while others work is left out (see space()) and logged.
  static Result<std::unique_ptr<ChunkStore>> open(ChunkStoreOptions options);
  ~ChunkStore();  // after all appenders
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  /// Begins a chunk in the directory with most room. already_exists: it is here or being written; resource_exhausted: no directory
  /// has room for `expected_length` bytes. They are kept free for it, `most_reserved` at most: of a longer chunk, room for the rest
  /// is found as it is written.
  Result<std::unique_ptr<ChunkAppender>> create(ChunkId id, std::uint64_t expected_length = kDefaultChunkBytes,
                                                std::uint64_t most_reserved = kLargestChunkBytes);

  /// For readers of this machine, whose descriptor() may be passed on. not_found: it is not here; corrupt: it is damaged (and is
  /// set aside); anything else: its file is there and could not be opened now.
  Result<std::shared_ptr<const ChunkFile>> open_chunk(ChunkId id);
  /// The chunk's file, whole or set aside as damaged, for readers that check each page and read bad ones elsewhere. not_found:
  /// there is none here.
  Result<std::shared_ptr<const DamagedChunk>> open_damaged(const ChunkInfo& info) const;
  /// Verified bytes from `offset` on; fewer than asked for only at the chunk's end. Errors as open_chunk().
  Result<std::size_t> read(ChunkId id, std::uint64_t offset, MutableBytes into);
  /// Reads and checks all of it; damaged, it is set aside. For readers that report damage they have seen.
  Result<void> check(ChunkId id);

  Result<ChunkInfo> find(ChunkId id) const;
  /// In order of ids.
  std::vector<StoredChunk> list() const;
  /// Damaged replicas that were set aside, without those of chunks that are here whole as well; in order of ids.
  std::vector<StoredChunk> quarantined() const;
  /// Unknown ids are fine. Removes replicas that were set aside, too. Readers keep what they have open. Reports as erased
  /// the chunks that are not here afterwards: all of them, unless one was written again meanwhile.
  void erase(std::span<const ChunkId> ids);
  std::vector<DirectorySpace> space() const;

  class Impl;

 private:
  explicit ChunkStore(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::storage

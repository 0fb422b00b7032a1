// One data directory: the files of its chunks, what identifies it, what is found in it after a restart. docs/formats/chunk.md has
// the layout. For the store; does not lock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "storage/chunks/chunk.hpp"
#include "storage/chunks/index.hpp"

namespace weft::storage {

/// What a directory was found to hold. `corrupt` have been set aside; `lost` are in the index and not in a file.
struct FoundChunks {
  std::vector<ChunkInfo> sealed, corrupt, lost, quarantined;
};

/// A call that the operating system refused, and its errno.
struct RefusedCall {
  std::string what;
  int error = 0;
};

/// Any thread; the store keeps operations on one chunk apart.
class Directory {
 public:
  /// Makes or takes over the directory, removes what is unsealed, reads or remakes the index.
  static Result<std::unique_ptr<Directory>> open(const std::filesystem::path& path, const std::string& cluster_id,
                                                 FoundChunks& found);

  const std::filesystem::path& path() const { return path_; }
  /// The hash of the cluster's id, for footers.
  std::uint64_t cluster() const { return cluster_; }
  std::filesystem::path unsealed_path(ChunkId id) const;
  std::filesystem::path chunk_path(ChunkId id) const;
  std::filesystem::path quarantine_path(ChunkId id) const;

  /// Makes a synced unsealed file a chunk, durably. What is refused is a write that failed: it counts against the directory
  /// (ChunkStore::Impl::write_failed), and there is no chunk.
  std::optional<RefusedCall> publish(const ChunkInfo& info);
  /// Moves the chunk's file out of readers' sight; when the disk refuses, it stays where it is.
  void quarantine(ChunkId id);
  /// Removes the chunk's file.
  void erase(ChunkId id);
  /// Removes the index's record of a file that is missing.
  void forget(ChunkId id);
  /// Removes the file that was set aside.
  void erase_quarantined(ChunkId id);

  ChunkId scrubbed() const;
  void set_scrubbed(ChunkId id);
  /// Whether it is still there and its disk answers.
  bool alive() const;
  /// Bytes of its file system: all, and free to this user.
  Result<std::pair<std::uint64_t, std::uint64_t>> file_system() const;

 private:
  Directory(std::filesystem::path path, std::uint64_t cluster) : path_(std::move(path)), cluster_(cluster) {}

  Result<void> lock();
  Result<void> identify(const std::string& cluster_id);
  Result<void> make_folders() const;
  Result<void> recover(FoundChunks& found);
  Result<std::vector<ChunkInfo>> load_index();
  Result<void> adopt(ChunkId id, FoundChunks& found);
  void remember(const ChunkInfo& info);  // in the index
  void note(const Result<void>& index_written);

  std::filesystem::path path_;
  std::uint64_t cluster_;
  Fd lock_;
  Fd chunks_;          // the folder, to be synced
  bool taken_ = true;  // its identity was found, so its index is believed
  mutable std::mutex index_mutex_;
  std::unique_ptr<ChunkIndex> index_;  // null once it failed, or when it could not be made
  Log log_{"chunks"};
};

}  // namespace weft::storage

// What the store's files share. Private to storage/chunks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "storage/chunks/chunk_store.hpp"
#include "storage/chunks/directory.hpp"

namespace weft::storage {

class ChunkStore::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(ChunkStoreOptions options) : options_(std::move(options)) {}

  Result<void> open();
  void start_scrubbing();
  void stop();

  Result<std::unique_ptr<ChunkAppender>> create(ChunkId id, std::uint64_t expected_length, std::uint64_t most_reserved);
  Result<std::shared_ptr<const ChunkFile>> open_chunk(ChunkId id);
  Result<std::shared_ptr<const DamagedChunk>> open_damaged(const ChunkInfo& info);
  Result<void> check(ChunkId id);
  Result<ChunkInfo> find(ChunkId id) const;
  std::vector<StoredChunk> list(bool aside) const;
  void erase(std::span<const ChunkId> ids);
  std::vector<DirectorySpace> space();
  /// Sets a damaged replica aside and reports it.
  void set_aside(ChunkId id);

  // For appenders. `slot` is the directory's number.
  Directory& directory(std::uint32_t slot) { return *slots_[slot].directory; }
  /// resource_exhausted when writing that many bytes more would use up the reserve.
  Result<void> check_room(std::uint32_t slot, std::uint64_t bytes);
  Error write_failed(std::uint32_t slot, const std::string& what, int error);
  void written(std::uint32_t slot, std::uint64_t bytes_of_reservation);
  void sealed(std::uint32_t slot, const ChunkInfo& info);
  void given_up(ChunkId id);

 private:
  struct Slot {
    std::filesystem::path path;
    std::unique_ptr<Directory> directory;  // null: it could not be opened
    std::map<ChunkId, ChunkInfo> chunks;   // sealed
    std::map<ChunkId, ChunkInfo> aside;    // in quarantine
    std::uint64_t used = 0;                // by sealed chunks
    std::uint64_t reserved = 0;            // bytes that appenders have announced and not yet written
    std::optional<std::string> failure;    // nothing is written here any more
    bool full = false;                     // its disk was full, so that it could not be opened: it is tried again
    // The scrubber's.
    ChunkId scrubbed;
    std::chrono::steady_clock::time_point pass_began, next_pass;
  };
  struct Found {
    std::uint32_t slot;
    ChunkInfo info;
  };

  Result<void> open_slot(Slot& slot);
  void open_full_slots();
  std::optional<Found> locate(ChunkId id) const;  // with mutex_ locked
  std::optional<Found> lock_and_locate(ChunkId id) const;
  std::optional<std::uint32_t> roomiest(std::uint64_t bytes, const std::set<std::uint32_t>& except) const;
  Result<std::uint64_t> room(const Slot& slot) const;
  /// With event_mutex_ locked since before the event.
  void report(ChunkEvent event, std::span<const ChunkInfo> chunks);
  /// The chunk's file is missing. Unless the chunk was erased meanwhile it is lost, and perhaps its directory with it.
  void missing(ChunkId id);
  void lose_directory(std::uint32_t slot, const std::string& why);
  void judge(ChunkId id, const Result<void>& checked);

  void scrub();
  std::optional<Found> next_to_scrub(std::chrono::steady_clock::time_point& wake);
  bool pace(std::uint64_t bytes);

  const ChunkStoreOptions options_;
  Log log_{"chunks"};
  std::mutex event_mutex_;    // held from a change until it is reported; locked before mutex_
  std::mutex opening_mutex_;  // for opening directories whose disks were full; locked before both
  mutable std::mutex mutex_;  // of all below; the vector itself and the directories' objects never change, once there
  std::vector<Slot> slots_;
  std::set<ChunkId> busy_;  // being written or erased

  std::thread scrubber_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::uint32_t scrub_turn_ = 0;
  std::chrono::steady_clock::time_point scrub_due_;  // when the next bytes may be read
};

/// `fd` is the unsealed file of `id` in that directory.
std::unique_ptr<ChunkAppender> make_appender(std::shared_ptr<ChunkStore::Impl> store, std::uint32_t slot, ChunkId id, Fd fd,
                                             std::uint64_t expected_length);

}  // namespace weft::storage

// The memory of prefetched blocks: what is kept, what leaves for files, and what comes back. Private to the prefetcher.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "shuffle/prefetch/block_mover.hpp"
#include "shuffle/prefetch/expected.hpp"
#include "shuffle/prefetch/prefetch_accounts.hpp"

namespace weft::shuffle {

/// Reactor thread. What it is given outlives it; the mover calls nothing back once it is gone.
class PrefetchMemory {
 public:
  using Key = Expected::Key;
  /// `moved` is called when blocks have left memory, or came back.
  PrefetchMemory(const PrefetchOptions& options, Expected& expected, PrefetchAccounts& accounts, RoomGiver& rooms,
                 BlockMover& mover, std::function<void()> moved)
      : options_(options), expected_(expected), accounts_(accounts), rooms_(rooms), mover_(mover), moved_(std::move(moved)) {}

  const PrefetchMemoryStats& stats() const { return stats_; }
  /// The store had no room, and nothing has been given up since.
  bool starved() const { return starved_; }
  void try_again() { starved_ = false; }
  /// Blocks are on their way to files: their memory is not free yet.
  bool leaving() const { return leaving_ > 0; }
  /// Files that are being read back.
  std::uint32_t returning() const { return returning_; }

  /// Makes room for the next blocks of `next`: whole partitions that would be read in a later round leave memory (`next` is null:
  /// whatever no task reads yet). False when that is not enough.
  bool make_room(const Turn* next, std::uint64_t bytes);
  /// Keeps blocks that were fetched; without room in the store they are wasted.
  void keep(const Turn& what, ExpectedPartition& partition, std::vector<MapAttempt> maps, SealedSegment blocks);
  /// Reads back the next of its files. False: the store has no room.
  bool bring_back(const Turn& what);
  /// Reads a partition back for its task, which waits. Blocks without room are given up, and the task fetches them.
  void bring_back_taken(const Key& key, std::uint32_t number, ExpectedPartition& partition);
  /// What is on its way to a file is still in memory, and stays there.
  void stay(ExpectedPartition& partition);
  /// A deferred partition leaves memory, once what is under way has come.
  void settle(const Key& key, std::uint32_t number);
  /// Gives up all blocks of the partition.
  void release(JobId job, ExpectedPartition& partition);

 private:
  /// All that is in memory of it goes to a file.
  void evict(const Key& key, std::uint32_t number);
  void left(const Key& key, std::uint32_t number, ExpectedPartition& partition, std::uint64_t bytes,
            Result<BlockMover::FilePtr> file);
  void came_back(const Turn& what, ExpectedPartition& partition, std::uint64_t bytes, Result<std::vector<HeldPtr>> blocks);
  /// Gives up what cannot be written or read back; it is fetched again.
  void lose(JobId job, ExpectedPartition& partition, std::uint64_t bytes);

  const PrefetchOptions& options_;
  Expected& expected_;
  PrefetchAccounts& accounts_;
  RoomGiver& rooms_;
  BlockMover& mover_;
  const std::function<void()> moved_;
  const Log log_{"prefetch"};

  PrefetchMemoryStats stats_;
  std::uint32_t leaving_ = 0;  // files that are being written
  std::uint32_t returning_ = 0;
  std::uint64_t returning_bytes_ = 0;
  std::uint64_t moves_ = 0;  // number of the last one
  bool starved_ = false;
  bool warned_ = false;  // since something could be written
};

}  // namespace weft::shuffle

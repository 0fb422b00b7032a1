// The prefetcher's inside. prefetch.cpp: what is expected, fetched and given; prefetch_memory.cpp: what leaves memory and comes
// back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "shuffle/prefetch/block_mover.hpp"
#include "shuffle/prefetch/expected.hpp"
#include "shuffle/prefetch/prefetch.hpp"

namespace weft::shuffle {

/// Reactor thread.
class Prefetcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::unique_ptr<BlockMover> mover, RoomGiver& rooms, PrefetchOptions options)
      : rooms_(rooms), options_(std::move(options)), mover_(std::move(mover)), expected_(options_) {}

  // As Prefetcher has them.
  void expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  void defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  void offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& offered, std::uint64_t block_bytes, bool complete);
  std::uint64_t block_bytes(JobId job, ShuffleId shuffle) const;
  void take(JobId job, ShuffleId shuffle, std::uint32_t number, Taken done);
  void limit_far(std::uint32_t most);
  void drop(JobId job, ShuffleId shuffle, std::uint32_t number);
  void drop(JobId job, ShuffleId shuffle);
  void drop(JobId job);
  void forget(const std::string& address, const Error& why);
  PrefetcherState state() const;
  JobBytes changed_jobs();
  /// No callback comes any more.
  void shutdown();

 private:
  using Key = Expected::Key;

  // Fetching.
  /// Outputs at an address of which it is known whether it is this host.
  void found_out(const Key& key, const std::string& address, const std::vector<MapAttempt>& maps, bool same_host);
  ExpectedPartition& partition_of(const Candidate& what);
  /// Nothing is begun while blocks are on their way to files: their memory is not free yet.
  void pump();
  /// Whether nothing may be fetched from there until another fetch from another rack has ended.
  bool held_back(const std::string& address) const { return far_flights_ >= most_far_ && far_.contains(address); }
  std::optional<Candidate> next_candidate() const;
  void fetch(const Candidate& what, std::size_t count);
  void fetched(const Candidate& what, bool far, std::vector<MapAttempt> maps, FetchOutcome outcome);
  /// It came after its partition was given up.
  void count_unwanted(JobId job, std::uint64_t bytes);
  /// Without room in the store it is wasted.
  void keep(const Candidate& what, ExpectedPartition& partition, std::vector<MapAttempt> maps, SealedSegment blocks);

  // Giving.
  void answer(JobId job, ExpectedPartition& partition);
  void release(JobId job, ExpectedPartition& partition);
  void give_up(const Key& key, std::uint32_t number, ExpectedPartition& partition);

  // Leaving memory, and coming back (prefetch_memory.cpp).
  /// Whole partitions that would be read in a later round than `next` leave memory (without it: whatever no task reads yet).
  bool make_room(const Candidate* next, std::uint64_t bytes);
  /// All that is in memory of it goes to a file.
  void evict(const Key& key, std::uint32_t number);
  void left(const Key& key, std::uint32_t number, ExpectedPartition& partition, std::uint64_t bytes,
            Result<BlockMover::FilePtr> file);
  /// What is on its way to a file is still in memory, and stays there.
  void stay(ExpectedPartition& partition);
  /// What is deferred leaves memory, once it has come.
  void settle(const Key& key, std::uint32_t number);
  /// The next of its files. False: the store has no room.
  bool bring_back(const Candidate& what);
  void came_back(const Candidate& what, ExpectedPartition& partition, std::uint64_t bytes, Result<std::vector<HeldPtr>> blocks);
  /// For its task, which waits: what there is no room for it fetches itself.
  void bring_back_taken(const Key& key, std::uint32_t number, ExpectedPartition& partition);
  void bring_back_all_taken();

  RoomGiver& rooms_;
  const PrefetchOptions options_;
  const Log log_{"prefetch"};
  std::unique_ptr<BlockMover> mover_;  // calls nothing back once it is gone
  Expected expected_;
  std::uint32_t flights_ = 0;      // fetches under way, and files that are read back
  std::uint32_t far_flights_ = 0;  // of these fetches, from other racks
  std::uint32_t most_far_ = UINT32_MAX;
  std::set<std::string> far_;          // addresses in other racks
  std::uint32_t leaving_ = 0;          // files that are written
  std::uint64_t returning_bytes_ = 0;  // that are read back
  std::uint64_t moves_ = 0;            // numbers of those
  /// Of the job, and of all together.
  void count(JobId job, std::uint64_t PrefetchStats::*what, std::uint64_t bytes);

  PrefetcherState stats_;
  struct Account {
    PrefetchStats bytes;
    bool changed = false;  // since it was reported
  };
  std::map<JobId, Account> accounts_;  // of jobs that were not dropped
  JobBytes dropped_;                   // the last of jobs that were, until reported
  bool starved_ = false;               // the store had no room: until something is given up, or offered
  bool warned_ = false;                // since something could be written
  bool closed_ = false;
};

}  // namespace weft::shuffle

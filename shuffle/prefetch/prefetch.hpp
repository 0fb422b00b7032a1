// Prefetches blocks of other machines' map outputs to where the tasks that read them were placed, while maps still run.
//
// A guess, not a promise: what is never read costs the bytes, and what is not there is fetched when its task reads it. What must
// leave memory before it is read goes to files (eviction_file.hpp), and comes back before its task begins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/prefetch/block_mover.hpp"
#include "shuffle/prefetch/expected.hpp"
#include "shuffle/prefetch/prefetch_accounts.hpp"
#include "shuffle/prefetch/prefetch_memory.hpp"
#include "shuffle/prefetch/prefetch_options.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/same_host.hpp"

namespace weft::shuffle {

/// A map output and where it is.
struct RemoteOutput {
  std::string address;  // of the data port
  MapAttempt map;
  bool far = false;  // in another rack
};

/// Reactor thread only, construction and destruction too; after destruction no callback comes.
class Prefetcher {
 public:
  /// What workers of the same host have is not prefetched: tasks map it. `same_host` outlives this object, `store` also what was
  /// posted to the reactors. What waits for the disk runs on `background`; files lie in the store's directory.
  Prefetcher(rpc::Reactor& reactor, rpc::Reactor& background, Store& store, SameHost& same_host, const PrefetchOptions& options);
  /// Over whatever moves the blocks. `rooms` outlives this object and what it gave.
  Prefetcher(std::unique_ptr<BlockMover> mover, RoomGiver& rooms, const PrefetchOptions& options);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// These partitions of the shuffle will be read here, in about this order. Replaces the order of earlier calls; what is held of
  /// other partitions is given up, unless its task has begun.
  void expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  /// Of the expected partitions, now and after later calls of expect(), these wait out of memory; all others are wanted in it.
  void defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  /// Outputs that are there; each is offered once or more often. One that is offered at another address has moved, and is fetched
  /// from there for partitions that do not have it. `block_bytes`: about what a map wrote for a partition; `complete`: these are
  /// the last ones.
  void offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& offered, std::uint64_t block_bytes, bool complete);

  /// What a map of that shuffle wrote for a partition, in the mean, as the last offer() had it; 0: nothing of it was offered.
  std::uint64_t block_bytes(JobId job, ShuffleId shuffle) const;

  /// At most this many fetches from other racks are under way at a time: for saturated uplinks. Fetches from this rack do not wait
  /// for them.
  void limit_far(std::uint32_t most);

  using Taken = BlocksTaken;
  /// The task that reads the partition has begun: gives it what is here, once what is under way has come and what is in files is
  /// back, and prefetches no more. `done` is called at once, or later on the reactor's thread.
  void take(JobId job, ShuffleId shuffle, std::uint32_t partition, Taken done);
  /// The task has ended: nothing of the partition is wanted.
  void drop(JobId job, ShuffleId shuffle, std::uint32_t partition);
  void drop(JobId job, ShuffleId shuffle);
  void drop(JobId job);
  /// The worker at that address is gone: nothing from it is waited for any more.
  void forget(const std::string& address, const Error& why);

  PrefetcherState state() const;
  using JobBytes = PrefetchAccounts::JobBytes;
  /// Of each job whose numbers have changed since the last call: all since its start. Of a dropped job once more.
  JobBytes changed_jobs() { return accounts_.take_changed(); }
  /// The next call has every job that is not dropped: whoever asked before has forgotten it.
  void report_all_jobs() { accounts_.report_all(); }

 private:
  using Key = Expected::Key;

  /// Outputs at an address of which it is known whether it is this host.
  void found_out(const Key& key, const std::string& address, const std::vector<MapAttempt>& maps, bool same_host);
  /// Begins what may begin. Nothing does while blocks are on their way to files: their memory is not free yet.
  void pump();
  void fetch(const Candidate& what, std::size_t count);
  void fetched(const Turn& what, const std::string& address, bool far, std::vector<MapAttempt> maps, FetchOutcome outcome);
  /// Gives tasks that wait what is here, if nothing of the partition is on its way.
  void answer(JobId job, ExpectedPartition& partition);
  void give_up(const Key& key, std::uint32_t number, ExpectedPartition& partition);

  const PrefetchOptions options_;
  const Log log_{"prefetch"};
  Expected expected_{options_};
  PrefetchAccounts accounts_;
  std::uint32_t flights_ = 0;      // fetches under way
  std::uint32_t far_flights_ = 0;  // of these, from other racks
  std::uint32_t most_far_ = UINT32_MAX;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::unique_ptr<BlockMover> mover_;  // calls nothing back once it is gone; goes before what its callbacks use
  PrefetchMemory memory_;
};

}  // namespace weft::shuffle

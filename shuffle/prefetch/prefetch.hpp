// Prefetches blocks of other machines' map outputs to where the tasks that read them were placed, while maps still run.
//
// A guess, not a promise: what is never read costs the bytes, and what is not there is fetched when its task reads it. What must
// leave memory before it is read goes to files (eviction_file.hpp), and comes back before its task begins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/prefetch/block_mover.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/same_host.hpp"

namespace weft::shuffle {

struct PrefetchOptions {
  std::uint64_t memory_bytes = 0;          // held at most, all of it in the store's budget; what is under way comes on top
  std::uint64_t disk_bytes = 0;            // of blocks in files at most, as they take memory; beyond it they are given up
  std::size_t segments = 2048;             // held at most, and as many in files: each is a descriptor
  std::uint32_t round = 1;                 // partitions that are read at a time: those of earlier rounds come first
  std::uint64_t fetch_bytes = 4u << 20;    // wanted size of one fetch
  bool quiet = false;                      // logs nothing that is usual where it runs
  std::uint64_t least_bytes = 128u << 10;  // less waits for more, until all outputs are known
  // Tasks wait for what is under way, so nothing is tried twice: they ask themselves for what did not come.
  FetchOptions fetch{.pull = {.in_flight = 4, .attempts = 1, .reply_deadline = std::chrono::seconds(5)}};
};

/// Since start, but what is held.
struct PrefetcherState : PrefetchStats {
  std::uint64_t held_bytes = 0, held_segments = 0;
  std::uint64_t file_bytes = 0;     // what files take now
  std::uint64_t evictions = 0;      // of a partition
  std::uint64_t dropped_bytes = 0;  // left memory and could not be written or read back, so they are fetched again
};

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
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// These partitions of the shuffle will be read here, in about this order. Replaces what was said before; what is held of
  /// others is given up, unless its task has begun.
  void expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  /// These of the expected partitions, of now and of later calls of expect(), wait out of memory, all others are wanted in it.
  /// Replaces what was said before.
  void defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions);
  /// Outputs that are there; each is offered once or more often. One that is offered at another address has moved, and is fetched
  /// from there for partitions that do not have it. `block_bytes`: about what a map wrote for a partition; `complete`: these are
  /// the last ones.
  void offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& outputs, std::uint64_t block_bytes, bool complete);

  /// What a map of that shuffle wrote for a partition, in the mean, as offer() last said; 0: nothing of it was offered.
  std::uint64_t block_bytes(JobId job, ShuffleId shuffle) const;

  /// So many fetches from other racks are under way at a time, at most: where an uplink is saturated. What comes from this rack
  /// does not wait for them.
  void limit_far(std::uint32_t most);

  using Taken = std::function<void(std::vector<HeldPtr>)>;
  /// The task that reads the partition has begun: gives it what is here, once what is under way has come and what is in files is
  /// back, and prefetches no more. `done` is called at once, or later on the reactor's thread.
  void take(JobId job, ShuffleId shuffle, std::uint32_t partition, Taken done);
  /// The task has ended: nothing of the partition is wanted.
  void drop(JobId job, ShuffleId shuffle, std::uint32_t partition);
  void drop(JobId job, ShuffleId shuffle);
  void drop(JobId job);
  /// Nobody need wait for anything from there any more.
  void forget(const std::string& address, const Error& why);

  PrefetcherState state() const;
  using JobBytes = std::vector<std::pair<JobId, PrefetchStats>>;
  /// Of each job of which something has changed since the last call: all since its start. Of a dropped job once more.
  JobBytes changed_jobs();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::shuffle

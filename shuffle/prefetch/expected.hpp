// Which partitions are expected to be read here, what other workers have of them, and what is to be fetched next. Private to the
// prefetcher.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shuffle/prefetch/block_cache.hpp"
#include "shuffle/prefetch/prefetch_options.hpp"

namespace weft::shuffle {

/// Called with the blocks of a partition that are here.
using BlocksTaken = std::function<void(std::vector<HeldPtr>)>;

/// A partition that is expected to be read here.
struct ExpectedPartition {
  struct AtSource {
    std::size_t next = 0;  // of the source's outputs: those before were fetched, or are under way
    bool listed = false;
  };

  std::uint32_t rank = 0;  // in the order of reading
  BlockCache cache;
  std::uint32_t flights = 0;
  std::uint64_t map_bytes = 0;  // of a map, as in the last fetch; 0: none has come
  std::size_t maps = 0;         // of that fetch
  bool taken = false;
  std::uint64_t unread = 0;          // bytes that no task has taken, wherever they are
  std::vector<BlocksTaken> waiting;  // for the flights, and for what comes back from files

  // What is listed (Expected).
  std::vector<AtSource> at;                           // by source; shorter than their number where nothing was fetched
  std::array<std::vector<std::uint32_t>, 2> sources;  // listed ones, of this rack and of others: the last address first
  bool comes_back = false;                            // from its files
  std::uint64_t least = UINT64_MAX;                   // every source with this many outputs left is listed, if any may be
};

/// A worker that offers outputs of a shuffle.
struct Source {
  std::string address;
  bool far = false;              // in another rack
  std::vector<MapAttempt> maps;  // that are there; none when it is of this machine
};

struct ExpectedShuffle {
  std::map<std::uint32_t, ExpectedPartition> partitions;
  std::set<std::uint32_t> deferred;  // partitions that wait out of memory
  std::vector<Source> sources;
  std::map<std::string, std::uint32_t> source_of;  // by address
  std::map<MapAttempt, std::uint32_t> known;       // the source that offered it last
  std::set<MapAttempt> moved;                      // of these: partitions may have them from another source
  std::uint64_t block_bytes = 0;
  bool complete = false;

  /// The source at that address, which is added when it is new.
  std::uint32_t source(const std::string& address, bool far);
};

/// When a partition is read: earlier rounds first, then jobs and shuffles by age.
struct Turn {
  std::uint32_t round = 0;
  JobId job;
  ShuffleId shuffle;
  std::uint32_t rank = 0;
  std::uint32_t partition = 0;
  friend auto operator<=>(const Turn&, const Turn&) = default;

  std::pair<JobId, ShuffleId> key() const { return {job, shuffle}; }
};

/// A partition that something of a source is to be fetched for; without a source, that is to come back from its files.
struct Candidate {
  Turn turn;
  std::optional<std::uint32_t> source;
};

/// Reactor thread.
class Expected {
 public:
  using Key = std::pair<JobId, ShuffleId>;
  explicit Expected(const PrefetchOptions& options) : options_(options) {}

  std::map<Key, ExpectedShuffle>& shuffles() { return shuffles_; }
  const std::map<Key, ExpectedShuffle>& shuffles() const { return shuffles_; }
  /// Null when it is not expected.
  ExpectedPartition* find(const Key& key, std::uint32_t number);
  /// The partition whose turn it is; it must be expected.
  ExpectedPartition& partition_of(const Turn& turn) { return shuffles_.at(turn.key()).partitions.at(turn.partition); }
  const ExpectedPartition& partition_of(const Turn& turn) const { return shuffles_.at(turn.key()).partitions.at(turn.partition); }
  Turn turn(const Key& key, std::uint32_t number) const;

  /// Notes where there is something to fetch or to bring back for the partition; for all of them.
  void list(const Key& key, std::uint32_t number);
  void list(const Key& key);
  /// The same for all partitions, after their sizes or the completeness of the shuffle have become known better.
  void list_again(const Key& key);
  /// What the source has more of, for the partition; for all of them.
  void list(const Key& key, std::uint32_t number, std::uint32_t source);
  void list_source(const Key& key, std::uint32_t source);
  /// Of the partition, until it is listed again.
  void unlist(const Key& key, std::uint32_t number);
  /// Nothing more is fetched from there until it has something new.
  void pass_over(const std::string& address);

  /// The first in the order of turns, and of addresses; `near`: of those that are not in another rack.
  std::optional<Candidate> next(bool near) const;
  void erase(const Candidate& candidate);
  /// Erases it until the partition is listed again, for whatever reason.
  void skip(const Candidate& candidate);

  struct Wanted {
    std::size_t maps = 0;
    std::uint64_t bytes = 0;  // about
  };
  /// As many maps as a fetch should hold. The candidate has a source.
  Wanted next_fetch(const Candidate& candidate) const;

  /// The partition that would be listed last of those that have blocks in memory and whose tasks have not begun.
  std::optional<Turn> last_in_memory() const;

 private:
  bool may_list(const ExpectedShuffle& shuffle, std::uint32_t number, const ExpectedPartition& partition) const;
  std::uint64_t least_outputs(const ExpectedShuffle& shuffle, const ExpectedPartition& partition) const;
  void add(const Turn& turn, const ExpectedShuffle& shuffle, ExpectedPartition& partition, std::uint32_t source);
  void remove(const Turn& turn, const ExpectedShuffle& shuffle, ExpectedPartition& partition, std::uint32_t source);

  const PrefetchOptions& options_;
  std::map<Key, ExpectedShuffle> shuffles_;
  std::set<Turn> near_, far_;  // of partitions that are listed with sources of this rack, or to come back; of other racks
};

}  // namespace weft::shuffle

// Which partitions are expected to be read here, what other workers have of them, and what is to be fetched next. Private to the
// prefetcher.
#pragma once

#include <compare>
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
  std::uint32_t rank = 0;                   // in the order of reading
  std::map<std::string, std::size_t> next;  // by address: outputs before that position were fetched, or are under way
  BlockCache cache;
  std::uint32_t flights = 0;
  std::uint64_t map_bytes = 0;  // of a map, as in the last fetch; 0: none has come
  std::size_t maps = 0;         // of that fetch
  bool taken = false;
  std::uint64_t unread = 0;          // bytes that no task has taken, wherever they are
  std::vector<BlocksTaken> waiting;  // for the flights, and for what comes back from files
};

struct ExpectedShuffle {
  std::map<std::uint32_t, ExpectedPartition> partitions;
  std::set<std::uint32_t> deferred;                           // partitions that wait out of memory
  std::map<std::string, std::vector<MapAttempt>> by_address;  // of other machines
  std::map<MapAttempt, std::string> known;                    // the address offered last
  std::set<MapAttempt> moved;                                 // of these: partitions may have them from another address
  std::uint64_t block_bytes = 0;
  bool complete = false;
};

/// A partition that something at that address is to be fetched for; without an address, that is to come back from its files.
/// Earlier rounds first, then jobs and shuffles by age.
struct Candidate {
  std::uint32_t round = 0;
  JobId job;
  ShuffleId shuffle;
  std::uint32_t rank = 0;
  std::uint32_t partition = 0;
  std::string address;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;

  bool comes_back() const { return address.empty(); }
  std::pair<JobId, ShuffleId> key() const { return {job, shuffle}; }
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
  /// The partition of a candidate; it must be expected.
  ExpectedPartition& partition_of(const Candidate& what) { return shuffles_.at(what.key()).partitions.at(what.partition); }
  Candidate candidate(const Key& key, std::uint32_t number, const std::string& address) const;

  /// Notes where there is something to fetch or to bring back for the partition; for all of them; from that address.
  void list(const Key& key, std::uint32_t number);
  void list(const Key& key);
  void list(const Key& key, std::uint32_t number, const std::string& address);
  /// Of the partition, until it is listed again.
  void unlist(const Key& key, std::uint32_t number);
  /// Nothing more is fetched from there until it has something new.
  void pass_over(const std::string& address);

  const std::set<Candidate>& candidates() const { return candidates_; }
  void erase(const Candidate& candidate) { candidates_.erase(candidate); }

  struct Wanted {
    std::size_t maps = 0;
    std::uint64_t bytes = 0;  // about
  };
  /// As many maps as a fetch should hold.
  Wanted next_fetch(const Candidate& candidate) const;

  /// The partition that would be listed last of those that have blocks in memory and whose tasks have not begun.
  std::optional<Candidate> last_in_memory() const;

 private:
  const PrefetchOptions& options_;
  std::map<Key, ExpectedShuffle> shuffles_;
  std::set<Candidate> candidates_;
};

}  // namespace weft::shuffle

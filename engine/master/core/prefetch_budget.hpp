// What the nodes are to hold of shuffles for readers that were placed on them, and which whole rounds of that are deferred: kept
// out of memory for now // (schedulers/prediction/prefetch_rounds.hpp). The core's account of it: no decision but this one is made
// here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "schedulers/prediction/prefetch_rounds.hpp"

namespace weft::master {

class PrefetchBudget {
 public:
  using Key = std::pair<JobId, StageId>;  // of the stage that writes the shuffle

  /// A reader's partition where it was placed.
  struct Place {
    std::uint32_t partition = 0;
    StageId reader;
    NodeId node;
    std::uint32_t round = 0;
    std::uint64_t bytes = 0;  // that are to be prefetched to the node
  };

  /// `bytes`: what the node may hold of prefetched blocks; 0: no limit. Without any limit nothing is recorded.
  void join(NodeId node, std::uint64_t bytes);
  void leave(NodeId node);
  bool limited() const { return !budgets_.empty(); }

  /// More places of the shuffle, or new ones for what had another.
  void place(const Key& key, const schedulers::JobOrder& job, std::span<const Place> places);
  /// What is to be prefetched of a partition to a node, as is known now; `complete`: for good, its maps have all ended.
  void resize(const Key& key, const std::function<std::uint64_t(std::uint32_t partition, NodeId node)>& bytes, bool complete);
  /// The partition's reader has ended.
  void read(const Key& key, std::uint32_t partition, StageId reader);
  /// No task reads it any more; the figures of its rounds are known until its job is dropped.
  void drop(const Key& key);
  void drop(JobId job);

  /// A decision looks at each.
  std::size_t places() const { return places_; }
  /// Something has changed since the last decision that may make another one right. O(1).
  bool due() const { return changed_ && (overfull_ > 0 || holding_); }
  /// All partitions of the shuffle that are deferred on the node, when they are others than before.
  struct Change {
    Key key;
    NodeId node;
    std::vector<std::uint32_t> deferred;
  };
  std::vector<Change> decide(schedulers::RoundOrder order);

  struct Standing {
    std::uint32_t rounds = 0;    // deferred now
    std::uint64_t bytes = 0;     // of these
    std::uint32_t evicted = 0;   // rounds that were deferred, ever
    std::uint32_t returned = 0;  // of these, those that were wanted in memory again
  };
  Standing standing(const Key& key) const;

 private:
  struct Shuffle {
    schedulers::JobOrder job;
    bool complete = false;
    std::map<std::pair<std::uint32_t, StageId>, Place> places;  // by partition and reader
    std::map<std::uint32_t, std::uint32_t> left;                // places, by round
    std::set<std::uint32_t> evicted_rounds;                     // deferred
    std::map<NodeId, std::vector<std::uint32_t>> deferred;      // partitions, as the node was notified; none is empty
    std::uint32_t evicted = 0, returned = 0;
  };
  using Places = std::map<std::pair<std::uint32_t, StageId>, Place>;

  void count(NodeId node, std::uint64_t more, std::uint64_t less);
  Places::iterator remove(Shuffle& shuffle, Places::iterator place);
  static void add_rounds(const Key& key, const Shuffle& shuffle, std::vector<schedulers::PrefetchRound>& rounds);
  static void compare(const Key& key, Shuffle& shuffle, std::vector<Change>& changes);

  std::map<NodeId, std::uint64_t> budgets_, wanted_;  // bytes; wanted: of all places there
  std::map<Key, Shuffle> shuffles_;                   // of jobs that run
  std::size_t places_ = 0;
  std::uint32_t overfull_ = 0;  // nodes on which more is wanted than fits
  bool changed_ = false;
  bool holding_ = false;  // something is deferred
};

}  // namespace weft::master

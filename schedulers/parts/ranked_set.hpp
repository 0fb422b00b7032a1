// Values by rank, the smallest first, each found again by its key: an order of jobs, users or pools that changes as they change.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

namespace weft::schedulers {

/// No two keys have equal ranks.
template <class Key, class Rank, class Value>
class RankedSet {
 public:
  /// Adds the key, or moves it to its new rank. O(log n).
  void place(const Key& key, const Rank& rank, const Value& value) {
    const auto [found, added] = ranks_.try_emplace(key, rank);
    if (!added) {
      if (!(found->second < rank) && !(rank < found->second)) return;
      order_.erase(found->second);
      found->second = rank;
    }
    order_.emplace(rank, std::pair(key, value));
  }
  void remove(const Key& key) {
    const auto found = ranks_.find(key);
    if (found == ranks_.end()) return;
    order_.erase(found->second);
    ranks_.erase(found);
  }
  bool contains(const Key& key) const { return ranks_.contains(key); }

  /// Calls launch(value) by rank until it returns true, after which ranks may have changed. `starts_over` is
  /// Launcher::starts_over(): false goes on at the value that was offered last, or at its new rank where that has become smaller.
  template <class Launch>
  bool offer(bool starts_over, Launch&& launch) {
    auto next = order_.begin();
    if (!starts_over) {
      const auto now = ranks_.find(last_.second);
      next = order_.lower_bound(now == ranks_.end() ? last_.first : std::min(last_.first, now->second));
    }
    for (; next != order_.end(); ++next) {
      last_ = {next->first, next->second.first};
      if (launch(next->second.second)) return true;
    }
    return false;
  }

 private:
  std::map<Key, Rank> ranks_;
  std::map<Rank, std::pair<Key, Value>> order_;
  std::pair<Rank, Key> last_{};  // offered
};

}  // namespace weft::schedulers

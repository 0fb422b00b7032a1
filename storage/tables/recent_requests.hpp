// The requests of clients that a partition has carried out, as far as they may be repeated. Private to storage/tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

namespace weft::storage::tables {

/// The last kMost of them. One thread at a time.
class RecentRequests {
 public:
  static constexpr std::size_t kMost = 65'536;

  void add(std::uint64_t request) {
    if (!known_.insert(request).second) return;
    order_.push_back(request);
    if (order_.size() > kMost) forget_oldest();
  }
  /// Adds requests that came before all known ones, the oldest first.
  void add_older(const std::deque<std::uint64_t>& requests) {
    for (auto at = requests.rbegin(); at != requests.rend() && order_.size() < kMost; ++at)
      if (known_.insert(*at).second) order_.push_front(*at);
  }
  bool contains(std::uint64_t request) const { return known_.contains(request); }

 private:
  void forget_oldest() {
    known_.erase(order_.front());
    order_.pop_front();
  }

  std::deque<std::uint64_t> order_;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace weft::storage::tables

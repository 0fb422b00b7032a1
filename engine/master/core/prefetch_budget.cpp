#include "engine/master/core/prefetch_budget.hpp"

#include <algorithm>

namespace weft::master {

void PrefetchBudget::join(NodeId node, std::uint64_t bytes) {
  if (bytes > 0) budgets_[node] = bytes;
}

void PrefetchBudget::leave(NodeId node) {
  for (auto& [key, shuffle] : shuffles_) {
    for (auto place = shuffle.places.begin(); place != shuffle.places.end();)
      place = place->second.node == node ? remove(shuffle, place) : std::next(place);
    shuffle.deferred.erase(node);
  }
  budgets_.erase(node);
  wanted_.erase(node);
}

void PrefetchBudget::count(NodeId node, std::uint64_t more, std::uint64_t less) {
  const auto budget = budgets_.find(node);
  if (budget == budgets_.end()) return;
  std::uint64_t& wanted = wanted_[node];
  const bool before = wanted > budget->second;
  wanted += more;
  wanted -= less;
  const bool after = wanted > budget->second;
  if (after && !before) ++overfull_;
  if (before && !after) --overfull_;
}

PrefetchBudget::Places::iterator PrefetchBudget::remove(Shuffle& shuffle, Places::iterator place) {
  const Place& gone = place->second;
  count(gone.node, 0, gone.bytes);
  --places_;
  const auto left = shuffle.left.find(gone.round);
  if (--left->second == 0) {
    shuffle.left.erase(left);
    shuffle.evicted_rounds.erase(gone.round);
    changed_ = true;
  }
  return shuffle.places.erase(place);
}

void PrefetchBudget::place(const Key& key, const schedulers::JobOrder& job, std::span<const Place> places) {
  if (!limited() || places.empty()) return;
  Shuffle& shuffle = shuffles_[key];
  shuffle.job = job;
  for (const Place& place : places) {
    const std::pair reads(place.partition, place.reader);
    if (const auto old = shuffle.places.find(reads); old != shuffle.places.end()) remove(shuffle, old);
    shuffle.places.emplace(reads, place);
    ++shuffle.left[place.round];
    ++places_;
    count(place.node, place.bytes, 0);
  }
  changed_ = true;
}

void PrefetchBudget::resize(const Key& key, const std::function<std::uint64_t(std::uint32_t partition, NodeId node)>& bytes,
                            bool complete) {
  const auto found = shuffles_.find(key);
  if (found == shuffles_.end()) return;
  found->second.complete = complete;
  for (auto& [reads, place] : found->second.places) {
    const std::uint64_t before = std::exchange(place.bytes, bytes(place.partition, place.node));
    count(place.node, place.bytes, before);
  }
  changed_ = true;
}

void PrefetchBudget::read(const Key& key, std::uint32_t partition, StageId reader) {
  const auto found = shuffles_.find(key);
  if (found == shuffles_.end()) return;
  const auto place = found->second.places.find({partition, reader});
  if (place != found->second.places.end()) remove(found->second, place);
}

void PrefetchBudget::drop(const Key& key) {
  const auto found = shuffles_.find(key);
  if (found == shuffles_.end()) return;
  Shuffle& shuffle = found->second;
  for (auto place = shuffle.places.begin(); place != shuffle.places.end();) place = remove(shuffle, place);
  shuffle.deferred.clear();
  shuffle.complete = false;
  changed_ = true;
}

void PrefetchBudget::drop(JobId job) {
  for (auto at = shuffles_.lower_bound({job, StageId(0)}); at != shuffles_.end() && at->first.first == job;) {
    drop(at->first);
    at = shuffles_.erase(at);
  }
}

void PrefetchBudget::add_rounds(const Key& key, const Shuffle& shuffle, std::vector<schedulers::PrefetchRound>& rounds) {
  std::map<std::pair<std::uint32_t, NodeId>, std::uint64_t> sums;
  for (const auto& [reads, place] : shuffle.places) sums[{place.round, place.node}] += place.bytes;
  const std::size_t first = rounds.size();
  for (const auto& [where, bytes] : sums) {
    const auto& [round, node] = where;
    if (rounds.size() == first || rounds.back().round != round)
      rounds.push_back({shuffle.job, key.second, round, shuffle.complete, static_cast<std::uint32_t>(shuffle.left.size()), {}});
    rounds.back().bytes.emplace_back(node, bytes);
  }
}

/// What is deferred now, against what the nodes were notified of.
void PrefetchBudget::compare(const Key& key, Shuffle& shuffle, std::vector<Change>& changes) {
  std::map<NodeId, std::vector<std::uint32_t>> wait;
  for (const auto& [reads, place] : shuffle.places) {
    if (!shuffle.evicted_rounds.contains(place.round)) continue;
    std::vector<std::uint32_t>& there = wait[place.node];
    if (there.empty() || there.back() != place.partition) there.push_back(place.partition);
  }
  for (const auto& [node, partitions] : wait) {
    const auto sent = shuffle.deferred.find(node);
    if (sent == shuffle.deferred.end() || sent->second != partitions) changes.push_back({key, node, partitions});
  }
  for (const auto& [node, partitions] : shuffle.deferred)
    if (!wait.contains(node)) changes.push_back({key, node, {}});
  shuffle.deferred = std::move(wait);
}

std::vector<PrefetchBudget::Change> PrefetchBudget::decide(schedulers::RoundOrder order) {
  changed_ = holding_ = false;
  std::vector<schedulers::PrefetchRound> rounds;
  for (const auto& [key, shuffle] : shuffles_) add_rounds(key, shuffle, rounds);
  const std::vector<bool> resident = schedulers::resident_rounds(rounds, budgets_, order);
  std::vector<Change> changes;
  std::size_t at = 0;
  for (auto& [key, shuffle] : shuffles_) {
    std::set<std::uint32_t> evicted;
    for (std::size_t left = shuffle.left.size(); left > 0; --left, ++at) {
      const std::uint32_t round = rounds[at].round;
      const bool before = shuffle.evicted_rounds.contains(round);
      if (!resident[at]) evicted.insert(round);
      shuffle.evicted += !resident[at] && !before ? 1 : 0;
      shuffle.returned += resident[at] && before ? 1 : 0;
    }
    shuffle.evicted_rounds = std::move(evicted);
    compare(key, shuffle, changes);
    holding_ = holding_ || !shuffle.deferred.empty();
  }
  return changes;
}

PrefetchBudget::Standing PrefetchBudget::standing(const Key& key) const {
  const auto found = shuffles_.find(key);
  if (found == shuffles_.end()) return {};
  const Shuffle& shuffle = found->second;
  Standing standing{static_cast<std::uint32_t>(shuffle.evicted_rounds.size()), 0, shuffle.evicted, shuffle.returned};
  for (const auto& [reads, place] : shuffle.places)
    standing.bytes += shuffle.evicted_rounds.contains(place.round) ? place.bytes : 0;
  return standing;
}

}  // namespace weft::master

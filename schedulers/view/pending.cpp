#include "schedulers/view/pending.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::schedulers {

template <class Place>
ReplicaIndex<Place>::ReplicaIndex(Places places) : order_(places.size()), pending_(static_cast<std::uint32_t>(places.size())) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [places](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
}

template <class Place>
std::span<const std::uint32_t> ReplicaIndex<Place>::at(Places places, Place place) const {
  const auto [begin, end] =
      std::ranges::equal_range(order_, place, {}, [places](std::uint32_t replica) { return places[replica]; });
  return {begin, end};
}

template <class Place>
std::optional<std::uint32_t> ReplicaIndex<Place>::first_pending(Places places, Place place) const {
  const auto begin = std::ranges::lower_bound(order_, place, {}, [places](std::uint32_t replica) { return places[replica]; });
  const auto first = pending_.at_or_after(static_cast<std::uint32_t>(begin - order_.begin()));
  if (!first || places[order_[*first]] != place) return std::nullopt;
  return order_[*first];
}

template <class Place>
void ReplicaIndex<Place>::set_pending(Places places, std::uint32_t replica, bool pending) {
  const auto there = at(places, places[replica]);
  const auto found = std::lower_bound(there.begin(), there.end(), replica);
  const auto position = static_cast<std::uint32_t>(&*found - order_.data());
  if (pending) {
    pending_.insert(position);
  } else {
    pending_.erase(position);
  }
}

PendingTasks::PendingTasks(std::uint32_t tasks, const std::vector<std::vector<HostId>>& hosts) : free_(tasks) {
  if (std::all_of(hosts.begin(), hosts.end(), [](const auto& list) { return list.empty(); })) return;
  first_host_.reserve(tasks + 1);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    const auto begin = static_cast<std::uint32_t>(hosts_.size());
    first_host_.push_back(begin);
    if (task >= hosts.size()) continue;
    for (HostId host : hosts[task]) {
      if (std::find(hosts_.begin() + begin, hosts_.end(), host) != hosts_.end()) continue;  // named twice
      hosts_.push_back(host);
    }
  }
  first_host_.push_back(static_cast<std::uint32_t>(hosts_.size()));
  hosts_.shrink_to_fit();
  racks_.assign(hosts_.size(), kNowhere);
  by_host_ = ReplicaIndex<HostId>(hosts_);
}

bool PendingTasks::contains(std::uint32_t task) const {
  if (free_.contains(task)) return true;
  return std::any_of(avoiding_.begin(), avoiding_.end(), [task](const auto& entry) { return entry.second.contains(task); });
}

std::span<const HostId> PendingTasks::hosts(std::uint32_t task) const {
  if (task + 1 >= first_host_.size()) return {};
  return std::span(hosts_).subspan(first_host_[task], first_host_[task + 1] - first_host_[task]);
}

std::optional<std::uint32_t> PendingTasks::pick(NodeId node, HostId host, RackId rack, Locality locality) const {
  if (locality != Locality::any) {
    if (!placed()) return std::nullopt;
    const auto replica = locality == Locality::node ? by_host_.first_pending(hosts_, host) : by_rack().first_pending(racks_, rack);
    return replica ? std::optional(task_of(*replica)) : std::nullopt;
  }
  for (const auto& [avoided, tasks] : avoiding_) {
    if (avoided != node && !tasks.empty()) return *tasks.begin();
  }
  return free_.first();
}

std::optional<Pick> PendingTasks::pick(NodeId node, HostId host, RackId rack) const {
  for (Locality locality : {Locality::node, Locality::rack, Locality::any}) {
    if (auto task = pick(node, host, rack, locality)) return Pick{*task, locality};
  }
  return std::nullopt;
}

void PendingTasks::insert(std::uint32_t task, std::optional<NodeId> avoid) {
  if (avoid) {
    if (avoiding_[*avoid].insert(task).second) ++constrained_;
    return;
  }
  if (free_.insert(task)) update_places(task, true);
}

void PendingTasks::erase(std::uint32_t task) {
  if (free_.erase(task)) return update_places(task, false);
  for (auto entry = avoiding_.begin(); entry != avoiding_.end(); ++entry) {
    if (entry->second.erase(task) == 0) continue;
    --constrained_;
    if (entry->second.empty()) avoiding_.erase(entry);
    return;
  }
}

std::uint32_t PendingTasks::task_of(std::uint32_t replica) const {
  const auto next = std::upper_bound(first_host_.begin(), first_host_.end(), replica);
  return static_cast<std::uint32_t>(next - first_host_.begin()) - 1;
}

void PendingTasks::update_places(std::uint32_t task, bool pending) {
  if (!placed()) return;
  for (std::uint32_t i = first_host_[task]; i < first_host_[task + 1]; ++i) {
    by_host_.set_pending(hosts_, i, pending);
    if (!racks_changed_ && racks_[i] != kNowhere) by_rack_.set_pending(racks_, i, pending);
  }
}

void PendingTasks::place(HostId host, RackId rack) {
  if (!placed()) return;
  for (const std::uint32_t replica : by_host_.at(hosts_, host)) {
    racks_changed_ = racks_changed_ || racks_[replica] == kNowhere;
    if (racks_[replica] == kNowhere) racks_[replica] = rack;
  }
}

const ReplicaIndex<RackId>& PendingTasks::by_rack() const {
  if (!std::exchange(racks_changed_, false)) return by_rack_;
  by_rack_ = ReplicaIndex<RackId>(racks_);
  for (auto task = free_.first(); task; task = free_.at_or_after(*task + 1)) {
    for (std::uint32_t i = first_host_[*task]; i < first_host_[*task + 1]; ++i) {
      if (racks_[i] != kNowhere) by_rack_.set_pending(racks_, i, true);
    }
  }
  return by_rack_;
}

}  // namespace weft::schedulers

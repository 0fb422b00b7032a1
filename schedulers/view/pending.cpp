#include "schedulers/view/pending.hpp"

#include <algorithm>

namespace weft::schedulers {

PendingTasks::PendingTasks(std::uint32_t tasks, const std::vector<std::vector<HostId>>& hosts) : free_(tasks) {
  if (std::all_of(hosts.begin(), hosts.end(), [](const auto& list) { return list.empty(); })) return;
  first_host_.reserve(tasks + 1);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    first_host_.push_back(static_cast<std::uint32_t>(hosts_.size()));
    if (task >= hosts.size()) continue;
    for (HostId host : hosts[task]) {
      auto& list = by_host_[host].tasks;
      if (!list.empty() && list.back() == task) continue;  // named twice
      list.push_back(task);
      hosts_.push_back(host);
    }
  }
  first_host_.push_back(static_cast<std::uint32_t>(hosts_.size()));
  for (auto& [host, index] : by_host_) index.pending = IndexSet(static_cast<std::uint32_t>(index.tasks.size()));
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
  if (locality == Locality::node) {
    auto found = by_host_.find(host);
    if (found == by_host_.end()) return std::nullopt;
    auto position = found->second.pending.first();
    if (!position) return std::nullopt;
    return found->second.tasks[*position];
  }
  if (locality == Locality::rack) {
    auto found = by_rack_.find(rack);
    return found == by_rack_.end() ? std::nullopt : found->second.first();
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

void PendingTasks::update_places(std::uint32_t task, bool pending) {
  for (HostId host : hosts(task)) {
    HostIndex& index = by_host_.find(host)->second;
    const auto position = std::lower_bound(index.tasks.begin(), index.tasks.end(), task) - index.tasks.begin();
    const auto at = static_cast<std::uint32_t>(position);
    if (pending) {
      index.pending.insert(at);
    } else {
      index.pending.erase(at);
    }
    if (!index.rack) continue;
    IndexSet& in_rack = by_rack_.find(*index.rack)->second;
    if (pending) {
      in_rack.insert(task);
    } else {
      in_rack.erase(task);
    }
  }
}

void PendingTasks::place(HostId host, RackId rack) {
  auto found = by_host_.find(host);
  if (found == by_host_.end() || found->second.rack) return;
  found->second.rack = rack;
  auto [entry, added] = by_rack_.try_emplace(rack);
  if (added) entry->second = IndexSet(free_.universe());
  for (std::uint32_t task : found->second.tasks) {
    if (free_.contains(task)) entry->second.insert(task);
  }
}

}  // namespace weft::schedulers

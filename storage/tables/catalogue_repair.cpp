// What the catalogue does about partitions by itself: a primary for each, as many replicas as wanted, none on drained workers.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "storage/tables/catalogue.hpp"

namespace weft::storage::tables {

TableCatalogue::Fitness TableCatalogue::fitness(const Table& table, std::uint32_t number, const std::string& name) const {
  if (flaw(table, number, name).empty()) return Fitness::good;
  const auto state = state_of(name, {table.record.id, number});
  if (state == ReplicaState::full) return Fitness::full;
  return state == ReplicaState::damaged ? Fitness::damaged : Fitness::none;
}

/// The fittest members in sync; of a partition that was never used, of all members.
std::vector<std::string> TableCatalogue::fittest(const Table& table, std::uint32_t number) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  std::vector<std::string> fittest;
  Fitness most = Fitness::damaged;
  for (const std::string& name : partition.made ? partition.in_sync : partition.members) {
    const Fitness its = fitness(table, number, name);
    if (its < most) continue;
    if (its > most) fittest.clear();
    most = its;
    fittest.push_back(name);
  }
  return fittest;
}

/// Of the fittest members the one with the newest replica becomes primary, of a new epoch. Those that stay come first.
void TableCatalogue::promote(Table& table, std::uint32_t number) {
  std::vector<std::string> usable = fittest(table, number);
  std::string best;
  std::tuple<bool, std::uint64_t, std::uint64_t> most;
  for (const std::string& name : usable) {
    const auto& replicas = nodes_.at(name).replicas;
    const auto report = replicas.find({table.record.id, number});
    const bool has_one = report != replicas.end();
    const std::tuple has_now(stays(name), has_one ? report->second.epoch : 0, has_one ? report->second.last : 0);
    if (!best.empty() && has_now <= most) continue;
    best = name;
    most = has_now;
  }
  const bool made = table.record.partitions.at(number).made;
  if (!best.empty()) become_primary(table, number, best, made ? std::move(usable) : std::vector{best});
}

void TableCatalogue::become_primary(Table& table, std::uint32_t number, const std::string& name, std::vector<std::string> in_sync) {
  PartitionRecord& partition = table.record.partitions.at(number);
  ++partition.epoch;
  partition.primary = name;
  partition.in_sync = std::move(in_sync);
  table.resigning.erase(number);
  changed(table, partition);
}

Time TableCatalogue::free_from(const PartitionRecord& partition) const {
  if (partition.primary.empty()) return Time{};
  const auto last = nodes_.find(partition.primary);
  return last != nodes_.end() ? last->second.leased_until : restored_at_ + options_.lease;
}

bool TableCatalogue::is_stranded(const Table& table, std::uint32_t number, Time now) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  if (!partition.made || live(partition.primary) != nullptr || now < free_from(partition)) return false;
  return std::none_of(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
    return fitness(table, number, name) != Fitness::none || state_of(name, {table.record.id, number}) == ReplicaState::opening;
  });
}

RemainingReplica TableCatalogue::remaining(const Table& table, std::uint32_t number) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  RemainingReplica left;
  left.partition = number;
  left.known = partition.at_least;
  left.fault = status(table, number, false).fault;
  std::uint64_t epoch = 0;
  for (const auto& [name, node] : nodes_) {
    const auto found = node.replicas.find(place);
    if (found == node.replicas.end()) continue;
    const ReplicaReport& report = found->second;
    if (has(partition.in_sync, name)) left.known = std::max(left.known, report.last);
    if (!node.live || !is_whole(report.state) || !has(partition.members, name)) continue;
    if (!left.worker.empty() && std::pair(report.epoch, report.last) <= std::pair(epoch, left.version)) continue;
    left.worker = name;
    epoch = report.epoch, left.version = report.last;
  }
  return left;
}

void TableCatalogue::end_transactions(Table& table) {
  const auto& commit = table.record.commit;
  std::erase_if(table.record.transactions, [&](const TransactionId id) {
    if (commit && commit->id == id) return false;
    leases_.end(id.value());
    return true;
  });
  changed(table);
}

Result<RemainingReplicas> TableCatalogue::promote_remaining(const std::string& name, bool accept_loss, Time now) {
  WEFT_ASSIGN(Table* const table, find(name));
  RemainingReplicas all;
  bool promoted = false;
  for (std::uint32_t p = 0; p < table->record.partitions.size(); ++p) {
    if (!is_stranded(*table, p, now)) continue;
    RemainingReplica left = remaining(*table, p);
    if (accept_loss && !left.worker.empty()) {
      PartitionRecord& partition = table->record.partitions[p];
      partition.at_least = left.version;
      become_primary(*table, p, left.worker, {left.worker});
      left.promoted = promoted = true;
    }
    all.replicas.push_back(std::move(left));
  }
  if (all.replicas.empty())
    return fail(
        Code::invalid_argument,
        fmt::format("every partition of '{}' has a replica in sync that serves it, or is about to: nothing is to be promoted",
                    name));
  if (promoted) end_transactions(*table);
  return all;
}

std::optional<ReplicaState> TableCatalogue::state_of(const std::string& name, const PlaceId& place) const {
  const Node* node = live(name);
  if (node == nullptr) return std::nullopt;
  const auto report = node->replicas.find(place);
  return report == node->replicas.end() ? std::nullopt : std::optional(report->second.state);
}

/// Adds a member when too few count: one that is gone for too long is replaced, one that is being drained is not counted.
void TableCatalogue::replace_lost(Table& table, std::uint32_t number, Time now, Loads& loads) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto lost = [&](const std::string& name) { return gone(name, now); };
  const auto counts = [&](const std::string& name) { return !lost(name) && !moves_away(name); };
  const auto remains = [&](const std::string& name) { return !lost(name) && stays(name); };
  const auto& members = partition.members;
  const auto there = static_cast<std::size_t>(std::count_if(members.begin(), members.end(), counts));
  const bool deserted = !leaving_.empty() && there > 0 && std::none_of(members.begin(), members.end(), remains);
  if (there >= table.record.replication && !deserted) return;
  if (loads.empty()) loads = count_loads();
  std::string next = choose(partition.members, loads);
  if (next.empty()) return;
  if (partition.members.size() >= table.record.replication) {
    const auto away = std::find_if(partition.members.begin(), partition.members.end(), lost);
    if (away != partition.members.end()) {
      std::erase(partition.in_sync, *away);
      partition.members.erase(away);
    }
  }
  ++loads[next].members;
  partition.members.push_back(std::move(next));
  changed(table, partition);
}

/// A drained worker's replica goes when enough others have everything.
void TableCatalogue::move_away(Table& table, std::uint32_t number, Time now) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto leaves = [&](const std::string& name) { return moves_away(name); };
  if (std::none_of(partition.members.begin(), partition.members.end(), leaves)) {
    if (leaving_.contains(partition.primary) && has_successor(table, number, partition.primary)) return resign(table, number);
    return drop_needless(table, number);
  }
  const auto good =
      static_cast<std::size_t>(std::count_if(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
        return !leaves(name) && !gone(name, now) && is_good(table, number, name);
      }));
  if (good < table.record.replication) return;
  if (leaves(partition.primary)) return resign(table, number);
  std::erase_if(partition.members, leaves);
  std::erase_if(partition.in_sync, leaves);
  changed(table, partition);
}

/// A drain that was cancelled leaves one replica too many: the last member goes.
void TableCatalogue::drop_needless(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  if (partition.in_sync.size() <= table.record.replication) return;
  std::vector<std::string> good;
  std::copy_if(partition.in_sync.begin(), partition.in_sync.end(), std::back_inserter(good),
               [&](const std::string& name) { return is_good(table, number, name); });
  if (good.size() <= table.record.replication) return;
  const bool some_leave = std::any_of(partition.members.begin(), partition.members.end(),
                                      [&](const std::string& name) { return leaving_.contains(name); });
  const auto last = std::find_if(partition.members.rbegin(), partition.members.rend(), [&](const std::string& name) {
    return name != partition.primary && has(good, name) && leaving_.contains(name) == some_leave;
  });
  if (last == partition.members.rend()) return;
  std::erase(partition.in_sync, *last);
  partition.members.erase(std::next(last).base());
  changed(table, partition);
}

void TableCatalogue::resign(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  if (table.resigning.insert(number).second) changed(table, partition);
}

/// A damaged replica is no longer in sync, so that the primary fills it again.
void TableCatalogue::drop_damaged(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  if (state_of(partition.primary, place) != ReplicaState::good) return;
  const auto is_damaged = [&](const std::string& name) { return state_of(name, place) == ReplicaState::damaged; };
  if (std::erase_if(partition.in_sync, is_damaged) > 0) changed(table, partition);
}

/// A partition whose primary is live.
void TableCatalogue::look_after(Table& table, std::uint32_t number, const Node& primary, Time now, Loads& loads) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto report = primary.replicas.find({table.record.id, number});
  if (report != primary.replicas.end() && report->second.revision == partition.revision) {  // of its present orders
    const ReplicaState state = report->second.state;
    if (state == ReplicaState::failed || state == ReplicaState::absent || table.resigning.contains(number)) {
      partition.primary.clear();
      table.resigning.erase(number);
      return changed(table, partition);
    }
    const auto better = [&](const std::string& name) { return is_good(table, number, name); };
    if ((state == ReplicaState::damaged || state == ReplicaState::full) &&
        std::any_of(partition.in_sync.begin(), partition.in_sync.end(), better))
      return resign(table, number);
  }
  drop_damaged(table, number);
  move_away(table, number, now);
  replace_lost(table, number, now, loads);
}

Time TableCatalogue::lease_time(Time now) {
  lease_clock_ += std::clamp(now - lease_clock_set_, Time(0), options_.longest_step);
  lease_clock_set_ = std::max(lease_clock_set_, now);
  return lease_clock_;
}

void TableCatalogue::expire(Time now) {
  for (const std::uint64_t over : leases_.take_expired(lease_time(now)))
    for (auto& [id, table] : tables_) {
      const auto is_over = [over](const SnapshotRecord& one) { return one.name.empty() && one.id.value() == over; };
      if (std::erase_if(table.record.snapshots, is_over) + std::erase(table.record.transactions, TransactionId(over)) > 0)
        changed(table);
    }
}

/// Unnamed snapshots, and transactions until their commit is decided.
std::vector<std::uint64_t> TableCatalogue::leased(const Table& table) {
  std::vector<std::uint64_t> ids;
  for (const SnapshotRecord& snapshot : table.record.snapshots)
    if (snapshot.name.empty()) ids.push_back(snapshot.id.value());
  for (const auto& [id, snapshot] : table.making)
    if (snapshot.name.empty()) ids.push_back(id.value());
  for (const TransactionId transaction : table.record.transactions)
    if (!table.record.commit || table.record.commit->id != transaction) ids.push_back(transaction.value());
  return ids;
}

/// A partition whose primary is not live. Until its lease is over the primary may serve, wherever it is. Other members in sync have
/// a moment to come back, which does not grow with the time before anything is copied.
void TableCatalogue::replace_primary(Table& table, std::uint32_t number, Time now) {
  const PartitionRecord& partition = table.record.partitions.at(number);
  if (now < free_from(partition)) return;
  const Time grace = std::min(options_.lost_grace, options_.lease);
  const bool all_there = std::all_of(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
    return name == partition.primary || live(name) != nullptr || away(name, now, grace);
  });
  if (all_there) promote(table, number);
}

void TableCatalogue::tick(Time now) {
  Loads loads;
  expire(now);
  for (auto& [id, table] : tables_) {
    for (std::uint32_t p = 0; p < table.record.partitions.size(); ++p) {
      if (const Node* const primary = live(table.record.partitions[p].primary))
        look_after(table, p, *primary, now, loads);
      else
        replace_primary(table, p, now);
    }
  }
}

bool TableCatalogue::needless(const std::string& node, const PlaceId& place, Time now) const {
  if (place.table.value() >= next_table_) return false;  // made by a master that knew more than this one
  const auto table = tables_.find(place.table);
  if (table == tables_.end() || place.partition >= table->second.record.partitions.size()) return true;
  const PartitionRecord& partition = table->second.record.partitions[place.partition];
  if (has(partition.members, node)) return false;
  // Members in sync may never come back, nor what they had: then this may be all that is left.
  const auto is_there = [&](const std::string& name) {
    return is_good(table->second, place.partition, name) && now < nodes_.at(name).leased_until;
  };
  const auto there = std::count_if(partition.in_sync.begin(), partition.in_sync.end(), is_there);
  return static_cast<std::size_t>(there) >= table->second.record.replication;
}

}  // namespace weft::storage::tables

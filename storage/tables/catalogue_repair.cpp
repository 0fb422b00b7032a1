// What the catalogue does about partitions by itself: a primary for each, as many replicas as wanted, none on drained workers.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "storage/tables/catalogue_impl.hpp"

namespace weft::storage::tables {

/// The member in sync that has most becomes primary, of a new epoch; of one that was never used, any. If none is
/// well, it is one whose disk is full; if there is none such either, a damaged one. Those that are not being drained go first.
void TableCatalogue::Impl::promote(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  std::vector<std::string> usable, full, damaged;
  for (const std::string& name : partition.made ? partition.in_sync : partition.members) {
    const auto state = state_of(name, place);
    if (flaw(table, number, name).empty())
      usable.push_back(name);
    else if (state == ReplicaState::full || state == ReplicaState::damaged)
      (state == ReplicaState::full ? full : damaged).push_back(name);
  }
  if (usable.empty()) usable = std::move(full.empty() ? damaged : full);
  std::string best;
  std::tuple<bool, std::uint64_t, std::uint64_t> most;
  for (const std::string& name : usable) {
    const auto& replicas = nodes.at(name).replicas;
    const auto report = replicas.find(place);
    const bool has_one = report != replicas.end();
    const std::tuple has_now(stays(name), has_one ? report->second.epoch : 0, has_one ? report->second.last : 0);
    if (!best.empty() && has_now <= most) continue;
    best = name;
    most = has_now;
  }
  if (!best.empty()) become_primary(table, number, best, partition.made ? std::move(usable) : std::vector{best});
}

void TableCatalogue::Impl::become_primary(Table& table, std::uint32_t number, const std::string& name,
                                          std::vector<std::string> in_sync) {
  PartitionRecord& partition = table.record.partitions.at(number);
  ++partition.epoch;
  partition.primary = name;
  partition.in_sync = std::move(in_sync);
  table.resigning.erase(number);
  changed(table, partition);
}

Time TableCatalogue::Impl::free_from(const PartitionRecord& partition) const {
  if (partition.primary.empty()) return Time{};
  const auto last = nodes.find(partition.primary);
  return last != nodes.end() ? last->second.leased_until : restored_at + options.lease;
}

/// Whoever is opening it, or is damaged or full but serves what can be read, will do without a loss.
bool TableCatalogue::Impl::is_stranded(const Table& table, std::uint32_t number, Time now) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  if (!partition.made || live(partition.primary) != nullptr || now < free_from(partition)) return false;
  return std::none_of(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
    const auto state = state_of(name, {table.record.id, number});
    return flaw(table, number, name).empty() || state == ReplicaState::opening || state == ReplicaState::damaged ||
           state == ReplicaState::full;
  });
}

RemainingReplica TableCatalogue::Impl::remaining(const Table& table, std::uint32_t number) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  RemainingReplica left;
  left.partition = number;
  left.known = partition.at_least;
  left.fault = status(table, number, false).fault;
  std::uint64_t epoch = 0;
  for (const auto& [name, node] : nodes) {
    const auto found = node.replicas.find(place);
    if (found == node.replicas.end()) continue;
    const ReplicaReport& report = found->second;
    if (has(partition.in_sync, name)) left.known = std::max(left.known, report.last);
    if (!node.live || (report.state != ReplicaState::good && report.state != ReplicaState::full) || !has(partition.members, name))
      continue;
    if (!left.worker.empty() && std::pair(report.epoch, report.last) <= std::pair(epoch, left.version)) continue;
    left.worker = name;
    epoch = report.epoch, left.version = report.last;
  }
  return left;
}

Result<RemainingReplicas> TableCatalogue::promote_remaining(const std::string& name, bool accept_loss, Time now) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  RemainingReplicas all;
  for (std::uint32_t p = 0; p < table->record.partitions.size(); ++p) {
    if (!impl_->is_stranded(*table, p, now)) continue;
    RemainingReplica left = impl_->remaining(*table, p);
    if (accept_loss && !left.worker.empty()) {
      PartitionRecord& partition = table->record.partitions[p];
      partition.at_least = left.version;
      impl_->become_primary(*table, p, left.worker, {left.worker});
      left.promoted = true;
    }
    all.replicas.push_back(std::move(left));
  }
  if (all.replicas.empty())
    return fail(
        Code::invalid_argument,
        fmt::format("every partition of '{}' has a replica in sync that serves it, or is about to: nothing is to be promoted",
                    name));
  return all;
}

std::optional<ReplicaState> TableCatalogue::Impl::state_of(const std::string& name, const PlaceId& place) const {
  const Node* node = live(name);
  if (node == nullptr) return std::nullopt;
  const auto report = node->replicas.find(place);
  return report == node->replicas.end() ? std::nullopt : std::optional(report->second.state);
}

/// Who is gone for too long, or is being drained, makes room for somebody else; too few members get more.
void TableCatalogue::Impl::replace_lost(Table& table, std::uint32_t number, Time now, Loads& loads) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto lost = [&](const std::string& name) { return gone(name, now); };
  const auto counts = [&](const std::string& name) { return !lost(name) && !moves_away(name); };
  const auto remains = [&](const std::string& name) { return !lost(name) && stays(name); };
  const auto& members = partition.members;
  const auto there = static_cast<std::size_t>(std::count_if(members.begin(), members.end(), counts));
  const bool deserted = !leaving.empty() && there > 0 && std::none_of(members.begin(), members.end(), remains);
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
void TableCatalogue::Impl::move_away(Table& table, std::uint32_t number, Time now) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto leaves = [&](const std::string& name) { return moves_away(name); };
  if (std::none_of(partition.members.begin(), partition.members.end(), leaves)) {
    if (leaving.contains(partition.primary) && has_successor(table, number, partition.primary)) return resign(table, number);
    return drop_needless(table, number);
  }
  const auto good =
      static_cast<std::size_t>(std::count_if(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
        return !leaves(name) && !gone(name, now) && flaw(table, number, name).empty();
      }));
  if (good < table.record.replication) return;
  if (leaves(partition.primary)) return resign(table, number);
  std::erase_if(partition.members, leaves);
  std::erase_if(partition.in_sync, leaves);
  changed(table, partition);
}

/// Of a drain that was taken back one replica too many is left: the last that came.
void TableCatalogue::Impl::drop_needless(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  if (partition.in_sync.size() <= table.record.replication) return;
  std::vector<std::string> good;
  std::copy_if(partition.in_sync.begin(), partition.in_sync.end(), std::back_inserter(good),
               [&](const std::string& name) { return flaw(table, number, name).empty(); });
  if (good.size() <= table.record.replication) return;
  const bool some_leave = std::any_of(partition.members.begin(), partition.members.end(),
                                      [&](const std::string& name) { return leaving.contains(name); });
  const auto last = std::find_if(partition.members.rbegin(), partition.members.rend(), [&](const std::string& name) {
    return name != partition.primary && has(good, name) && leaving.contains(name) == some_leave;
  });
  if (last == partition.members.rend()) return;
  std::erase(partition.in_sync, *last);
  partition.members.erase(std::next(last).base());
  changed(table, partition);
}

void TableCatalogue::Impl::resign(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  if (table.resigning.insert(number).second) changed(table, partition);
}

/// One that is damaged is filled again: for the primary it has nothing any more.
void TableCatalogue::Impl::drop_damaged(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  if (state_of(partition.primary, place) != ReplicaState::good) return;
  const auto is_damaged = [&](const std::string& name) { return state_of(name, place) == ReplicaState::damaged; };
  if (std::erase_if(partition.in_sync, is_damaged) > 0) changed(table, partition);
}

/// Of a partition whose primary is there.
void TableCatalogue::Impl::look_after(Table& table, std::uint32_t number, const Node& primary, Time now, Loads& loads) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const auto report = primary.replicas.find({table.record.id, number});
  if (report != primary.replicas.end() && report->second.revision == partition.revision) {  // what it says of its present orders
    const ReplicaState state = report->second.state;
    if (state == ReplicaState::failed || state == ReplicaState::absent || table.resigning.contains(number)) {
      partition.primary.clear();
      table.resigning.erase(number);
      return changed(table, partition);
    }
    const auto better = [&](const std::string& name) { return flaw(table, number, name).empty(); };
    if ((state == ReplicaState::damaged || state == ReplicaState::full) &&
        std::any_of(partition.in_sync.begin(), partition.in_sync.end(), better))
      return resign(table, number);
  }
  drop_damaged(table, number);
  move_away(table, number, now);
  replace_lost(table, number, now, loads);
}

void TableCatalogue::Impl::expire(Table& table, Time now) {
  for (auto lease = table.leases.begin(); lease != table.leases.end();) {
    if (lease->second > now) {
      ++lease;
      continue;
    }
    const std::uint64_t id = lease->first;
    lease = table.leases.erase(lease);
    std::erase_if(table.record.snapshots, [id](const SnapshotRecord& one) { return one.name.empty() && one.id.value() == id; });
    std::erase(table.record.transactions, TransactionId(id));
    changed(table);
  }
}

void TableCatalogue::tick(Time now) {
  Impl::Loads loads;
  for (auto& [id, table] : impl_->tables) {
    impl_->expire(table, now);
    for (std::uint32_t p = 0; p < table.record.partitions.size(); ++p) {
      PartitionRecord& partition = table.record.partitions[p];
      if (const Impl::Node* primary = impl_->live(partition.primary); primary != nullptr) {
        impl_->look_after(table, p, *primary, now, loads);
        continue;
      }
      // Until its lease is over it may serve, wherever it is; and who else is in sync has a moment to come back as well, be the
      // time before anything is copied ever so long.
      if (now < impl_->free_from(partition)) continue;
      const bool all_there = std::all_of(partition.in_sync.begin(), partition.in_sync.end(), [&](const std::string& name) {
        return name == partition.primary || impl_->live(name) != nullptr ||
               impl_->away(name, now, std::min(impl_->options.lost_grace, impl_->options.lease));
      });
      if (all_there) impl_->promote(table, p);
    }
  }
}

bool TableCatalogue::Impl::needless(const std::string& node, const PlaceId& place) const {
  if (place.table.value() >= next_table) return false;  // made by a master that knew more than this one
  const auto table = tables.find(place.table);
  if (table == tables.end() || place.partition >= table->second.record.partitions.size()) return true;
  const PartitionRecord& partition = table->second.record.partitions[place.partition];
  return !has(partition.members, node) && partition.in_sync.size() >= table->second.record.replication;
}

}  // namespace weft::storage::tables

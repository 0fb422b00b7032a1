// What workers say, and what comes of it: who is primary, who keeps what.
#include <algorithm>
#include <tuple>

#include <fmt/core.h>

#include "storage/tables/catalogue_impl.hpp"

namespace weft::storage::tables {
namespace {

bool reported_failure(const std::map<PlaceId, ReplicaReport>& replicas, const PlaceId& place) {
  const auto report = replicas.find(place);
  return report != replicas.end() && !report->second.failure.empty();
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const TableCatalogue::Impl::Node* TableCatalogue::Impl::live(const std::string& name) const {
  const auto found = nodes.find(name);
  return found != nodes.end() && found->second.live ? &found->second : nullptr;
}

bool TableCatalogue::Impl::away(const std::string& name, Time now, Time time) const {
  const auto found = nodes.find(name);
  if (found != nodes.end() && found->second.live) return false;
  return now >= (found == nodes.end() ? restored_at : found->second.lost_at) + time;
}

TableCatalogue::Impl::Loads TableCatalogue::Impl::count_loads() const {
  Loads loads;
  for (const auto& [id, table] : tables)
    for (const PartitionRecord& partition : table.record.partitions) {
      if (!partition.primary.empty()) ++loads[partition.primary].primaries;
      for (const std::string& name : partition.members) ++loads[name].members;
    }
  return loads;
}

/// Racks with fewest replicas first, then machines without one, then who has least.
std::string TableCatalogue::Impl::choose(const std::vector<std::string>& members, const Loads& loads) const {
  std::string best;
  std::tuple<std::size_t, std::size_t, std::size_t> best_score;
  for (const auto& [name, node] : nodes) {
    if (!node.live || draining.contains(name) || has(members, name)) continue;
    std::size_t in_rack = 0, on_host = 0;
    for (const std::string& member : members) {
      const auto other = nodes.find(member);
      if (other == nodes.end()) continue;
      in_rack += other->second.site.rack == node.site.rack;
      on_host += other->second.site.host == node.site.host;
    }
    const auto known = loads.find(name);
    const Load load = known == loads.end() ? Load{} : known->second;
    const std::tuple score(in_rack, on_host, load.primaries + (members.empty() ? 0 : load.members));
    if (!best.empty() && score >= best_score) continue;
    best = name;
    best_score = score;
  }
  return best;
}

Assignment TableCatalogue::Impl::assignment(const Table& table, std::uint32_t number) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  Assignment made;
  made.place = {table.record.id, number};
  made.epoch = partition.epoch, made.revision = partition.revision, made.primary = partition.primary;
  if (table.resigning.contains(number)) made.primary.clear();
  for (const std::string& name : partition.members) {
    const Node* node = live(name);
    made.members.push_back({name, node != nullptr ? node->site.address : "", has(partition.in_sync, name)});
  }
  for (const SnapshotRecord& snapshot : table.record.snapshots) made.snapshots.push_back(snapshot.id);
  for (const auto& [id, snapshot] : table.making) made.snapshots.push_back(id);
  made.transactions = table.record.transactions;
  made.next_id = next_id;
  made.commit = table.record.commit;
  made.made = partition.made;
  return made;
}

PartitionStatus TableCatalogue::Impl::status(const Table& table, std::uint32_t number, bool whole) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  PartitionStatus status;
  status.epoch = partition.epoch;
  if (live(partition.primary) != nullptr) status.primary = partition.primary;
  for (const std::string& name : partition.members) {
    const auto known = nodes.find(name);
    MemberStatus member{name, "", "", "", has(partition.in_sync, name)};
    const Node* node = live(name);
    if (known != nodes.end()) member.host = known->second.site.host, member.rack = known->second.site.rack;
    if (node != nullptr) member.address = node->site.address;
    if (node != nullptr) {
      const auto report = node->replicas.find({table.record.id, number});
      if (report != node->replicas.end()) status.bytes = std::max(status.bytes, report->second.bytes);
    }
    const std::string wrong = flaw(table, number, name);
    const bool tells = node == nullptr || reported_failure(node->replicas, {table.record.id, number}) ||
                       (partition.primary.empty() && has(partition.in_sync, name));
    if (tells && !wrong.empty()) status.fault += (status.fault.empty() ? "" : "; ") + wrong;
    if (whole) status.members.push_back(std::move(member));
  }
  return status;
}

TableStatus TableCatalogue::Impl::status(const Table& table, bool whole) const {
  const TableRecord& record = table.record;
  TableStatus all;
  all.id = record.id, all.name = record.name, all.replication = record.replication;
  all.partition_count = static_cast<std::uint32_t>(record.partitions.size());
  for (const SnapshotRecord& snapshot : record.snapshots) all.snapshots.push_back({snapshot.id, snapshot.name, snapshot.made_ms});
  for (std::uint32_t p = 0; p < record.partitions.size(); ++p) {
    PartitionStatus partition = status(table, p, whole);
    std::size_t good = 0;
    for (const std::string& name : record.partitions[p].in_sync) good += live(name) != nullptr;
    all.bytes += partition.bytes;
    all.short_partitions += good < record.replication;
    all.down_partitions += partition.primary.empty();
    if (whole) all.partitions.push_back(std::move(partition));
  }
  return all;
}

std::string TableCatalogue::Impl::flaw(const Table& table, std::uint32_t number, const std::string& name) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  const Node* node = live(name);
  if (node == nullptr) return fmt::format("worker {} is away", name);
  const auto report = node->replicas.find({table.record.id, number});
  if (!partition.made)  // nothing was ever there
    return report != node->replicas.end() && report->second.state == ReplicaState::failed
               ? fmt::format("worker {}: {}", name, report->second.failure)
               : "";
  if (report == node->replicas.end()) return fmt::format("worker {} has not got it", name);
  if (!report->second.failure.empty()) return fmt::format("worker {}: {}", name, report->second.failure);
  if (report->second.state != ReplicaState::good) return fmt::format("worker {} opens it", name);
  if (report->second.last < partition.at_least && has(partition.in_sync, name))
    return fmt::format("worker {} has version {} of what had version {} there: has its disk been put back to an earlier state?",
                       name, report->second.last, partition.at_least);
  return "";
}

/// The member in sync that has most becomes primary, of a new epoch; of one that was never used, any. One that is hurt when there
/// is nobody else, and one that is being drained likewise.
void TableCatalogue::Impl::promote(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  const PlaceId place{table.record.id, number};
  std::vector<std::string> usable, hurt;
  for (const std::string& name : partition.made ? partition.in_sync : partition.members) {
    if (flaw(table, number, name).empty())
      usable.push_back(name);
    else if (state_of(name, place) == ReplicaState::damaged)
      hurt.push_back(name);
  }
  if (usable.empty()) usable = std::move(hurt);
  std::string best;
  std::tuple<bool, std::uint64_t, std::uint64_t> most;
  for (const std::string& name : usable) {
    const auto& replicas = nodes.at(name).replicas;
    const auto report = replicas.find(place);
    const bool has_one = report != replicas.end();
    const std::tuple has_now(!draining.contains(name), has_one ? report->second.epoch : 0, has_one ? report->second.last : 0);
    if (!best.empty() && has_now <= most) continue;
    best = name;
    most = has_now;
  }
  if (best.empty()) return;
  ++partition.epoch;
  partition.primary = best;
  partition.in_sync = partition.made ? std::move(usable) : std::vector{best};
  table.resigning.erase(number);
  changed(table, partition);
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
  const auto stays = [&](const std::string& name) { return !lost(name) && !draining.contains(name); };
  const auto there = static_cast<std::size_t>(std::count_if(partition.members.begin(), partition.members.end(), stays));
  if (there >= table.record.replication) return;
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
  const auto leaves = [&](const std::string& name) { return draining.contains(name); };
  if (std::none_of(partition.members.begin(), partition.members.end(), leaves)) return drop_needless(table, number);
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
  const auto last = std::find_if(partition.members.rbegin(), partition.members.rend(),
                                 [&](const std::string& name) { return name != partition.primary && has(good, name); });
  if (last == partition.members.rend()) return;
  std::erase(partition.in_sync, *last);
  partition.members.erase(std::next(last).base());
  changed(table, partition);
}

void TableCatalogue::Impl::resign(Table& table, std::uint32_t number) {
  PartitionRecord& partition = table.record.partitions.at(number);
  if (table.resigning.insert(number).second) changed(table, partition);
}

/// A damaged one is filled again: for the primary it has nothing any more.
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
    if (state == ReplicaState::damaged && std::any_of(partition.in_sync.begin(), partition.in_sync.end(), better))
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
      const auto last = impl_->nodes.find(partition.primary);
      const Time free = partition.primary.empty()    ? Time{}
                        : last != impl_->nodes.end() ? last->second.leased_until
                                                     : impl_->restored_at + impl_->options.lease;
      if (now < free) continue;
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

TableOrders TableCatalogue::heartbeat(const TableNode& site, const TableHeartbeat& beat, Time now) {
  Impl::Node& node = impl_->nodes[site.name];
  const bool fresh = beat.first || !node.live || node.site.address != site.address;
  node.site = site;
  node.live = true;
  node.leased_until = now + impl_->options.lease;
  node.replicas.clear();
  for (const ReplicaReport& report : beat.replicas) node.replicas.emplace(report.place, report);

  TableOrders orders;
  orders.lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(impl_->options.lease).count();
  for (auto& [id, table] : impl_->tables) {
    for (std::uint32_t p = 0; p < table.record.partitions.size(); ++p) {
      PartitionRecord& partition = table.record.partitions[p];
      if (!has(partition.members, site.name)) continue;
      if (fresh) {
        // It does not serve what it served before: somebody else may, or itself again.
        if (partition.primary == site.name) partition.primary.clear(), table.resigning.erase(p);
        impl_->changed(table, partition);
        continue;
      }
      const auto report = node.replicas.find({id, p});
      if (!partition.made && partition.primary == site.name && report != node.replicas.end() &&
          report->second.revision == partition.revision && report->second.state == ReplicaState::good) {
        partition.made = true;
        impl_->changed(table, partition);
      }
      if (report == node.replicas.end() || report->second.revision != partition.revision)
        orders.assignments.push_back(impl_->assignment(table, p));
    }
  }
  for (const ReplicaReport& report : beat.replicas)
    if (impl_->needless(site.name, report.place)) orders.erase.push_back(report.place);
  return orders;
}

void TableCatalogue::node_lost(const std::string& name, Time now) {
  const auto found = impl_->nodes.find(name);
  if (found == impl_->nodes.end() || !found->second.live) return;
  found->second.live = false;
  found->second.lost_at = now;
}

void TableCatalogue::drain(const std::string& name, bool on) {
  on ? void(impl_->draining.insert(name)) : void(impl_->draining.erase(name));
}

std::size_t TableCatalogue::replicas_on(const std::string& name) const {
  std::size_t count = 0;
  for (const auto& [id, table] : impl_->tables)
    for (const PartitionRecord& partition : table.record.partitions) count += has(partition.members, name);
  return count;
}

bool TableCatalogue::change_in_sync(const std::string& sender, const InSyncChange& change, Assignment& assignment) {
  const auto table = impl_->tables.find(change.place.table);
  if (table == impl_->tables.end() || change.place.partition >= table->second.record.partitions.size()) return false;
  PartitionRecord& partition = table->second.record.partitions[change.place.partition];
  const bool allowed = partition.primary == sender && partition.epoch == change.epoch && partition.revision == change.revision &&
                       has(change.in_sync, sender) &&
                       std::all_of(change.in_sync.begin(), change.in_sync.end(),
                                   [&](const std::string& name) { return has(partition.members, name); });
  if (allowed) {
    partition.in_sync = change.in_sync;
    partition.made = true;
    partition.at_least = std::max(partition.at_least, change.last);
    impl_->changed(table->second, partition);
  }
  assignment = impl_->assignment(table->second, change.place.partition);
  return allowed;
}

}  // namespace weft::storage::tables

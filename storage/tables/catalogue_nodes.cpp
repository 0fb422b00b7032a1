// What workers report: which are live, which replicas they have, and what they are ordered to do.
#include <algorithm>

#include <fmt/core.h>

#include "storage/tables/catalogue.hpp"
#include "storage/tables/table_placement.hpp"

namespace weft::storage::tables {
namespace {

/// Of assignments in an answer: each has its table's whole commit, and a message has an end. The next answers have the others.
constexpr std::size_t kMostOrderBytes = 8u << 20;

/// About what it takes in a message.
std::size_t bytes_of(const Assignment& assignment) {
  std::size_t bytes = 256 + assignment.primary.size();
  for (const Member& member : assignment.members) bytes += 64 + member.name.size() + member.address.size();
  const std::size_t tokens = assignment.commit ? assignment.commit->tokens.size() : 0;
  return bytes + sizeof(std::uint64_t) * (assignment.snapshots.size() + assignment.transactions.size() + tokens);
}

bool reported_failure(const std::map<PlaceId, ReplicaReport>& replicas, const PlaceId& place) {
  const auto report = replicas.find(place);
  return report != replicas.end() && !report->second.failure.empty();
}

}  // namespace

const TableCatalogue::Node* TableCatalogue::live(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found != nodes_.end() && found->second.live ? &found->second : nullptr;
}

bool TableCatalogue::away(const std::string& name, Time now, Time time) const {
  const auto found = nodes_.find(name);
  if (found != nodes_.end() && found->second.live) return false;
  return now >= (found == nodes_.end() ? restored_at_ : found->second.lost_at) + time;
}

TableCatalogue::Loads TableCatalogue::count_loads() const {
  Loads loads;
  for (const auto& [id, table] : tables_)
    for (const PartitionRecord& partition : table.record.partitions) {
      if (!partition.primary.empty()) ++loads[partition.primary].primaries;
      for (const std::string& name : partition.members) ++loads[name].members;
    }
  return loads;
}

std::string TableCatalogue::choose(const std::vector<std::string>& members, const Loads& loads) const {
  std::vector<TableWorker> usable, taken;
  for (const auto& [name, node] : nodes_) {
    const auto known = loads.find(name);
    const Load load = known == loads.end() ? Load{} : known->second;
    const TableWorker worker{name, node.site.rack, node.site.host, load.primaries + (members.empty() ? 0 : load.members)};
    if (has(members, name))
      taken.push_back(worker);
    else if (node.live && stays(name))
      usable.push_back(worker);
  }
  return choose_worker(usable, taken);
}

Assignment TableCatalogue::assignment_of(const Table& table, std::uint32_t number) const {
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
  made.next_id = next_id_;
  made.commit = table.record.commit;
  made.made = partition.made;
  made.keys = access_of(table).keys;
  return made;
}

PartitionStatus TableCatalogue::status(const Table& table, std::uint32_t number, bool whole) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  PartitionStatus status;
  status.epoch = partition.epoch;
  if (live(partition.primary) != nullptr) status.primary = partition.primary;
  for (const std::string& name : partition.members) {
    const auto known = nodes_.find(name);
    MemberStatus member{name, "", "", "", has(partition.in_sync, name)};
    const Node* node = live(name);
    if (known != nodes_.end()) member.host = known->second.site.host, member.rack = known->second.site.rack;
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

TableStatus TableCatalogue::status(const Table& table, bool whole) const {
  const TableRecord& record = table.record;
  TableStatus all;
  all.id = record.id, all.name = record.name, all.replication = record.replication;
  const AccessRecord& access = access_of(table);
  all.owner = access.owner, all.mode = access.mode;
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

std::string TableCatalogue::flaw(const Table& table, std::uint32_t number, const std::string& name) const {
  const PartitionRecord& partition = table.record.partitions.at(number);
  const Node* node = live(name);
  if (node == nullptr) return fmt::format("worker {} is away", name);
  const auto report = node->replicas.find({table.record.id, number});
  if (!partition.made)  // nothing was ever there
    return report != node->replicas.end() &&
                   (report->second.state == ReplicaState::failed || report->second.state == ReplicaState::full)
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

TableOrders TableCatalogue::heartbeat(const TableNode& site, const TableHeartbeat& beat, Time now) {
  Node& node = nodes_[site.name];
  const bool fresh = beat.first || !node.live || node.site.address != site.address;
  node.site = site;
  node.live = true;
  node.leased_until = now + options_.lease;
  node.replicas.clear();
  for (const ReplicaReport& report : beat.replicas) node.replicas.emplace(report.place, report);

  TableOrders orders;
  orders.lease_ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count();
  std::size_t bytes = 0;
  for (auto& [id, table] : tables_) {
    for (std::uint32_t p = 0; p < table.record.partitions.size(); ++p) {
      PartitionRecord& partition = table.record.partitions[p];
      if (!has(partition.members, site.name)) continue;
      if (fresh) {
        // It does not serve what it served before: somebody else may, or itself again.
        if (partition.primary == site.name) partition.primary.clear(), table.resigning.erase(p);
        changed(table, partition);
        continue;
      }
      const auto report = node.replicas.find({id, p});
      const bool opened = report != node.replicas.end() && is_whole(report->second.state);
      if (!partition.made && partition.primary == site.name && opened && report->second.revision == partition.revision) {
        partition.made = true;
        changed(table, partition);
      }
      if (report != node.replicas.end() && report->second.revision == partition.revision) continue;
      if (bytes >= kMostOrderBytes) {
        changed_workers_.insert(site.name);  // it asks again at once
        continue;
      }
      orders.assignments.push_back(assignment_of(table, p));
      bytes += bytes_of(orders.assignments.back());
    }
  }
  for (const ReplicaReport& report : beat.replicas)
    if (needless(site.name, report.place, now)) orders.erase.push_back(report.place);
  return orders;
}

void TableCatalogue::node_lost(const std::string& name, Time now) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.live) return;
  found->second.live = false;
  found->second.lost_at = now;
}

void TableCatalogue::node_leaves(const std::string& name, bool returns) { leaving_[name] = returns; }
void TableCatalogue::node_left(const std::string& name) { leaving_.erase(name); }

bool TableCatalogue::has_successor(const Table& table, std::uint32_t number, const std::string& than) const {
  const auto& in_sync = table.record.partitions.at(number).in_sync;
  return std::any_of(in_sync.begin(), in_sync.end(),
                     [&](const std::string& name) { return name != than && stays(name) && is_good(table, number, name); });
}

std::size_t TableCatalogue::to_hand_over(const std::string& name) const {
  if (!leaving_.contains(name)) return 0;
  if (moves_away(name)) return replicas_on(name);
  const bool alone =
      std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node.second.live && stays(node.first); });
  if (alone) return 0;  // it comes back before anybody could take them
  std::size_t count = 0;
  for (const auto& [id, table] : tables_)
    for (std::uint32_t p = 0; p < table.record.partitions.size(); ++p) {
      const PartitionRecord& partition = table.record.partitions[p];
      count += has(partition.members, name) && (partition.primary == name || !has_successor(table, p, name)) ? 1 : 0;
    }
  return count;
}

void TableCatalogue::drain(const std::string& name, bool on) { on ? void(draining_.insert(name)) : void(draining_.erase(name)); }

std::size_t TableCatalogue::replicas_on(const std::string& name) const {
  std::size_t count = 0;
  for (const auto& [id, table] : tables_)
    for (const PartitionRecord& partition : table.record.partitions) count += has(partition.members, name);
  return count;
}

bool TableCatalogue::change_in_sync(const std::string& sender, const InSyncChange& change, Assignment& assignment) {
  const auto table = tables_.find(change.place.table);
  if (table == tables_.end() || change.place.partition >= table->second.record.partitions.size()) return false;
  PartitionRecord& partition = table->second.record.partitions[change.place.partition];
  const bool allowed = partition.primary == sender && partition.epoch == change.epoch && partition.revision == change.revision &&
                       has(change.in_sync, sender) &&
                       std::all_of(change.in_sync.begin(), change.in_sync.end(),
                                   [&](const std::string& name) { return has(partition.members, name); });
  if (allowed) {
    partition.in_sync = change.in_sync;
    partition.made = true;
    partition.at_least = std::max(partition.at_least, change.last);
    changed(table->second, partition);
  }
  assignment = assignment_of(table->second, change.place.partition);
  return allowed;
}

}  // namespace weft::storage::tables

// What clients ask for, and the durable form: docs/formats/namespace.md.
#include "storage/tables/catalogue.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kCommitsRemembered = 1024;  // of a table, for jobs that repeat theirs: 8 KiB in its record
constexpr std::size_t kMostTables = 10'000, kMostSnapshots = 1000, kMostTransactions = 1000;
constexpr const char* kIdsKey = "ti";
constexpr std::string_view kAccessKey = "ta";
constexpr int kHexadecimal = 16;

struct CatalogueIds {
  std::uint64_t table = 1, id = 1;
};

std::string key_of(std::string_view kind, std::uint64_t id) { return fmt::format("{}{:016x}", kind, id); }
std::string key_of(TableId id) { return key_of("tt", id.value()); }
std::string access_key_of(TableId id) { return key_of(kAccessKey, id.value()); }
/// The id in a key of key_of() with that kind.
std::optional<std::uint64_t> id_in(std::string_view kind, std::string_view key) {
  std::uint64_t id = 0;
  if (!key.starts_with(kind)) return std::nullopt;
  std::from_chars(key.data() + kind.size(), key.data() + key.size(), id, kHexadecimal);
  return key == key_of(kind, id) ? std::optional(id) : std::nullopt;
}

bool has_committed(const TableRecord& record, TransactionId id) {
  return std::find(record.committed.begin(), record.committed.end(), id) != record.committed.end();
}

template <class T>
std::string bytes_of(const T& record) {
  Encoder out;
  Codec<T>::encode(record, out);
  return std::string(as_chars(out.view()));
}

}  // namespace

Result<void> TableCatalogue::restore(std::string_view key, std::string_view value) {
  const auto damaged = [&] { return fail(Code::corrupt, fmt::format("the record '{}' of the tables is damaged", escaped(key))); };
  if (const auto lease = id_in(kTableLeaseTimes, key)) return leases_.restore(*lease, value) ? Result<void>() : damaged();
  try {
    Decoder in(as_bytes(value));
    if (key == kIdsKey) {
      const CatalogueIds ids = Codec<CatalogueIds>::decode(in);
      next_table_ = ids.table, next_id_ = ids.id;
      return {};
    }
    if (key.starts_with(kAccessKey)) {
      const auto id = id_in(kAccessKey, key);
      AccessRecord access = Codec<AccessRecord>::decode(in);
      if (id && in.empty() && access_.emplace(TableId(*id), std::move(access)).second) return {};
      return damaged();
    }
    TableRecord record = Codec<TableRecord>::decode(in);
    const TableId id = record.id;
    if (key == key_of(id) && in.empty() && !record.partitions.empty() && names_.emplace(record.name, id).second) {
      tables_[id].record = std::move(record);
      return {};
    }
  } catch (const CodecError&) {
  }
  return damaged();
}

void TableCatalogue::restored(Time now) {
  restored_at_ = now;
  for (const auto& [id, table] : tables_)
    for (const std::uint64_t lease : leased(table)) leases_.begin(lease, options_.client_lease, lease_time(now));
  leases_.end_others();
}

std::vector<Change> TableCatalogue::take_changes() {
  std::vector<Change> changes;
  for (const TableId id : std::exchange(dirty_, {})) {
    const auto found = tables_.find(id);
    changes.push_back({key_of(id), found == tables_.end() ? std::nullopt : std::optional(bytes_of(found->second.record))});
  }
  for (const TableId id : std::exchange(dirty_access_, {})) {
    const auto found = access_.find(id);
    changes.push_back({access_key_of(id), found == access_.end() ? std::nullopt : std::optional(bytes_of(found->second))});
  }
  for (auto& [lease, time] : leases_.take_changed()) changes.push_back({key_of(kTableLeaseTimes, lease), std::move(time)});
  if (std::exchange(dirty_ids_, false)) changes.push_back({kIdsKey, bytes_of(CatalogueIds{next_table_, next_id_})});
  return changes;
}

std::set<std::string> TableCatalogue::changed_workers() { return std::exchange(changed_workers_, {}); }

Result<TableCatalogue::Table*> TableCatalogue::find(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end())
    return fail(Code::not_found, fmt::format("there is no table '{}'; `weft table list` shows those there are", escaped(name)));
  return &tables_.at(found->second);
}
Result<const TableCatalogue::Table*> TableCatalogue::find(const std::string& name) const {
  return const_cast<TableCatalogue*>(this)->find(name).map([](Table* found) { return static_cast<const Table*>(found); });
}

void TableCatalogue::changed(Table& table, PartitionRecord& partition) {
  ++partition.revision;
  dirty_.insert(table.record.id);
  changed_workers_.insert(partition.members.begin(), partition.members.end());
}
void TableCatalogue::changed(Table& table) {
  for (PartitionRecord& partition : table.record.partitions) changed(table, partition);
}

Result<void> TableCatalogue::create(const std::string& name, std::uint32_t partitions, std::uint32_t replication,
                                    std::uint64_t token, AccessRecord access) {
  WEFT_TRY(check_table_name("table", name));
  if (partitions == 0 || partitions > kMostPartitions)
    return fail(Code::invalid_argument, fmt::format("tables have 1 to {} partitions, not {}", kMostPartitions, partitions));
  if (replication == 0 || replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("tables have 1 to {} replicas, not {}", kMostReplicas, replication));
  if (const auto there = names_.find(name); there != names_.end()) {
    if (token != 0 && tables_.at(there->second).record.token == token) return {};
    return fail(Code::already_exists, fmt::format("the table '{}' exists", name));
  }
  if (tables_.size() >= kMostTables)
    return fail(Code::resource_exhausted, fmt::format("there are {} tables already; drop some", kMostTables));
  Loads loads = count_loads();
  if (choose({}, loads).empty())
    return fail(Code::unavailable, "no worker that is not being drained keeps tables now; start some with --chunk-dir");
  const TableId id(next_table_++);
  Table& table = tables_[id];
  table.record.id = id, table.record.name = name, table.record.replication = replication;
  table.record.token = token;
  table.record.partitions.resize(partitions);
  names_.emplace(name, id);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    PartitionRecord& partition = table.record.partitions[p];
    while (partition.members.size() < replication) {
      std::string next = choose(partition.members, loads);
      if (next.empty()) break;
      ++loads[next].members;
      partition.members.push_back(std::move(next));
    }
    partition.in_sync = {partition.members.front()};
    promote(table, p);
    ++loads[partition.primary].primaries;
  }
  dirty_ids_ = true;
  access_[id] = std::move(access);
  dirty_access_.insert(id);
  return {};
}

Result<void> TableCatalogue::drop(const std::string& name, TableId id) {
  WEFT_ASSIGN(Table* const table, find(name));
  if (id != TableId() && table->record.id != id)
    return fail(Code::not_found, fmt::format("the table '{}' was dropped, and another one made under its name", name));
  changed(*table);
  for (const std::uint64_t lease : leased(*table)) leases_.end(lease);
  if (access_.erase(table->record.id) > 0) dirty_access_.insert(table->record.id);
  names_.erase(name);
  tables_.erase(table->record.id);
  return {};
}

std::vector<TableStatus> TableCatalogue::list() const {
  std::vector<TableStatus> all;
  for (const auto& [name, id] : names_) all.push_back(status(tables_.at(id), false));
  return all;
}
Result<TableStatus> TableCatalogue::describe(const std::string& name) const {
  WEFT_ASSIGN(const Table* const table, find(name));
  return status(*table, true);
}

Result<SnapshotId> TableCatalogue::begin_snapshot(const std::string& name, const std::string& snapshot, std::uint64_t token,
                                                  std::int64_t clock_ms, Time now) {
  WEFT_ASSIGN(Table* const table, find(name));
  if (!snapshot.empty()) {
    WEFT_TRY(check_table_name("snapshot", snapshot));
    for (const SnapshotRecord& known : table->record.snapshots)
      if (known.name == snapshot)
        return fail(Code::already_exists, fmt::format("the table '{}' has a snapshot '{}'", name, snapshot));
  }
  if (table->record.snapshots.size() + table->making.size() >= kMostSnapshots)
    return fail(Code::resource_exhausted, fmt::format("the table '{}' has {} snapshots already; drop some", name, kMostSnapshots));
  const SnapshotId id(next_id_++);
  dirty_ids_ = true;
  table->making[id] = {id, snapshot, clock_ms, token};
  if (snapshot.empty()) leases_.begin(id.value(), options_.client_lease, lease_time(now));
  return id;
}

Result<SnapshotId> TableCatalogue::made_before(const std::string& name, std::uint64_t token) const {
  WEFT_ASSIGN(const Table* const table, find(name));
  for (const SnapshotRecord& known : table->record.snapshots)
    if (token != 0 && known.token == token) return known.id;
  return SnapshotId();
}

Result<void> TableCatalogue::complete_snapshot(const std::string& name, SnapshotId id) {
  WEFT_ASSIGN(Table* const table, find(name));
  const auto made = table->making.find(id);
  if (made == table->making.end()) return fail(Code::unavailable, fmt::format("the snapshot of '{}' was given up", name));
  SnapshotRecord record = std::move(made->second);
  table->making.erase(made);
  changed(*table);  // also when it took too long: partitions that have marked it drop it
  if (record.name.empty() && !leases_.contains(id.value()))
    return fail(Code::unavailable, fmt::format("the snapshot of '{}' took too long", name));
  table->record.snapshots.push_back(std::move(record));
  return {};
}

Result<void> TableCatalogue::drop_snapshot(const std::string& name, const std::string& snapshot, SnapshotId id) {
  WEFT_ASSIGN(Table* const table, find(name));
  auto& known = table->record.snapshots;
  const bool made = std::erase_if(known, [&](const SnapshotRecord& one) {
                      return id == SnapshotId() ? !snapshot.empty() && one.name == snapshot : one.id == id;
                    }) > 0;
  if (!made && table->making.erase(id) == 0)
    return fail(Code::not_found, fmt::format("the table '{}' has no snapshot '{}'", name,
                                             snapshot.empty() ? std::to_string(id.value()) : escaped(snapshot)));
  leases_.end(id.value());
  changed(*table);
  return {};
}

Result<TransactionId> TableCatalogue::begin(const std::string& name, Time now) {
  WEFT_ASSIGN(Table* const table, find(name));
  if (table->record.transactions.size() >= kMostTransactions)
    return fail(Code::resource_exhausted,
                fmt::format("{} jobs write the table '{}' already; wait for some to end", kMostTransactions, name));
  const TransactionId id(next_id_++);
  dirty_ids_ = true;
  table->record.transactions.push_back(id);
  leases_.begin(id.value(), options_.client_lease, lease_time(now));
  changed(*table);
  return id;
}

Result<void> TableCatalogue::renew(const std::string& name, std::uint64_t id, Time now) {
  WEFT_ASSIGN(Table* const table, find(name));
  if (const auto ids = leased(*table); !leases_.contains(id) || std::find(ids.begin(), ids.end(), id) == ids.end())
    return fail(Code::not_found,
                fmt::format("what was kept of the table '{}' for this program is gone: it was silent for too long", name));
  leases_.renew(id, lease_time(now));
  return {};
}

Result<void> TableCatalogue::abort(const std::string& name, TransactionId id) {
  WEFT_ASSIGN(Table* const table, find(name));
  if (table->record.commit && table->record.commit->id == id)
    return fail(Code::already_exists, fmt::format("what was written to '{}' is being committed already", name));
  if (has_committed(table->record, id))
    return fail(Code::already_exists, fmt::format("what was written to '{}' was committed", name));
  if (std::erase(table->record.transactions, id) == 0) return {};
  leases_.end(id.value());
  changed(*table);
  return {};
}

bool TableCatalogue::is_committed(const std::string& name, TransactionId id) const {
  const auto table = find(name);
  return table && has_committed((*table)->record, id);
}

Result<bool> TableCatalogue::decide(const std::string& name, const TableCommit& commit) {
  WEFT_ASSIGN(Table* const table, find(name));
  TableRecord& record = table->record;
  if (has_committed(record, commit.id)) return false;
  if (record.commit && record.commit->id == commit.id) return true;
  if (record.commit) return fail(Code::unavailable, fmt::format("another job's rows of '{}' are being committed", name));
  if (std::find(record.transactions.begin(), record.transactions.end(), commit.id) == record.transactions.end())
    return fail(Code::not_found,
                fmt::format("what was written to the table '{}' is gone: its writer was silent for too long, or a replica that may "
                            "lack some of it was promoted (weft table promote)",
                            name));
  record.commit = commit;
  leases_.end(commit.id.value());
  changed(*table);
  return true;
}

Result<void> TableCatalogue::complete_commit(const std::string& name, TransactionId id) {
  WEFT_ASSIGN(Table* const table, find(name));
  TableRecord& record = table->record;
  if (!record.commit || record.commit->id != id) return {};
  record.commit.reset();
  std::erase(record.transactions, id);
  record.committed.push_back(id);
  if (record.committed.size() > kCommitsRemembered) record.committed.erase(record.committed.begin());
  changed(*table);
  return {};
}

std::vector<std::pair<std::string, TableCommit>> TableCatalogue::decided() const {
  std::vector<std::pair<std::string, TableCommit>> all;
  for (const auto& [id, table] : tables_)
    if (table.record.commit) all.emplace_back(table.record.name, *table.record.commit);
  return all;
}

}  // namespace weft::storage::tables

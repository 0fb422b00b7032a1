// What clients ask for, and the durable form: docs/formats/namespace.md.
#include "storage/tables/catalogue.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/tables/catalogue_impl.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kCommitsRemembered = 64;
constexpr std::size_t kMostTables = 10'000, kMostSnapshots = 1000, kMostTransactions = 1000;
constexpr const char* kIdsKey = "ti";

struct Ids {
  std::uint64_t table = 1, id = 1;
};

std::string key_of(TableId id) { return fmt::format("tt{:016x}", id.value()); }

template <class T>
std::string bytes_of(const T& record) {
  Encoder out;
  Codec<T>::encode(record, out);
  return std::string(as_chars(out.view()));
}

}  // namespace

TableCatalogue::TableCatalogue(CatalogueOptions options) : impl_(std::make_unique<Impl>(options)) {}
TableCatalogue::TableCatalogue(TableCatalogue&&) noexcept = default;
TableCatalogue& TableCatalogue::operator=(TableCatalogue&&) noexcept = default;
TableCatalogue::~TableCatalogue() = default;

Result<void> TableCatalogue::restore(std::string_view key, std::string_view value) {
  try {
    Decoder in(as_bytes(value));
    if (key == kIdsKey) {
      const Ids ids = Codec<Ids>::decode(in);
      impl_->next_table = ids.table, impl_->next_id = ids.id;
      return {};
    }
    TableRecord record = Codec<TableRecord>::decode(in);
    const TableId id = record.id;
    if (key == key_of(id) && in.empty() && !record.partitions.empty() && impl_->names.emplace(record.name, id).second) {
      impl_->tables[id].record = std::move(record);
      return {};
    }
  } catch (const CodecError&) {
  }
  return fail(Code::corrupt, fmt::format("the record '{}' of the tables is damaged", escaped(key)));
}

void TableCatalogue::restored(Time now) {
  impl_->restored_at = now;
  for (auto& [id, table] : impl_->tables) {
    for (const SnapshotRecord& snapshot : table.record.snapshots)
      if (snapshot.name.empty()) table.leases[snapshot.id.value()] = now + impl_->options.client_lease;
    for (const TransactionId open : table.record.transactions) table.leases[open.value()] = now + impl_->options.client_lease;
  }
}

std::vector<Change> TableCatalogue::take_changes() {
  std::vector<Change> changes;
  for (const TableId id : std::exchange(impl_->dirty, {})) {
    const auto found = impl_->tables.find(id);
    changes.push_back({key_of(id), found == impl_->tables.end() ? std::nullopt : std::optional(bytes_of(found->second.record))});
  }
  if (std::exchange(impl_->dirty_ids, false)) changes.push_back({kIdsKey, bytes_of(Ids{impl_->next_table, impl_->next_id})});
  return changes;
}

std::set<std::string> TableCatalogue::changed_workers() { return std::exchange(impl_->changed_workers, {}); }

Result<TableCatalogue::Impl::Table*> TableCatalogue::Impl::table(const std::string& name) {
  const auto found = names.find(name);
  if (found == names.end())
    return fail(Code::not_found, fmt::format("there is no table '{}'; `weft table list` shows those there are", escaped(name)));
  return &tables.at(found->second);
}
Result<const TableCatalogue::Impl::Table*> TableCatalogue::Impl::table(const std::string& name) const {
  return const_cast<Impl*>(this)->table(name).map([](Table* found) { return static_cast<const Table*>(found); });
}

void TableCatalogue::Impl::changed(Table& table, PartitionRecord& partition) {
  ++partition.revision;
  dirty.insert(table.record.id);
  changed_workers.insert(partition.members.begin(), partition.members.end());
}
void TableCatalogue::Impl::changed(Table& table) {
  for (PartitionRecord& partition : table.record.partitions) changed(table, partition);
}

Result<void> TableCatalogue::create(const std::string& name, std::uint32_t partitions, std::uint32_t replication,
                                    std::uint64_t token) {
  WEFT_TRY(check_table_name("table", name));
  if (partitions == 0 || partitions > kMostPartitions)
    return fail(Code::invalid_argument, fmt::format("tables have 1 to {} partitions, not {}", kMostPartitions, partitions));
  if (replication == 0 || replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("tables have 1 to {} replicas, not {}", kMostReplicas, replication));
  if (const auto there = impl_->names.find(name); there != impl_->names.end()) {
    if (token != 0 && impl_->tables.at(there->second).record.token == token) return {};
    return fail(Code::already_exists, fmt::format("the table '{}' exists", name));
  }
  if (impl_->tables.size() >= kMostTables)
    return fail(Code::resource_exhausted, fmt::format("there are {} tables already; drop some", kMostTables));
  Impl::Loads loads = impl_->count_loads();
  if (impl_->choose({}, loads).empty())
    return fail(Code::unavailable, "no worker that is not being drained keeps tables now; start some with --chunk-dir");
  const TableId id(impl_->next_table++);
  Impl::Table& table = impl_->tables[id];
  table.record.id = id, table.record.name = name, table.record.replication = replication;
  table.record.token = token;
  table.record.partitions.resize(partitions);
  impl_->names.emplace(name, id);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    PartitionRecord& partition = table.record.partitions[p];
    while (partition.members.size() < replication) {
      std::string next = impl_->choose(partition.members, loads);
      if (next.empty()) break;
      ++loads[next].members;
      partition.members.push_back(std::move(next));
    }
    partition.in_sync = {partition.members.front()};
    impl_->promote(table, p);
    ++loads[partition.primary].primaries;
  }
  impl_->dirty_ids = true;
  return {};
}

Result<void> TableCatalogue::drop(const std::string& name, TableId id) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  if (id != TableId() && table->record.id != id)
    return fail(Code::not_found, fmt::format("the table '{}' was dropped, and another one made under its name", name));
  impl_->changed(*table);
  impl_->names.erase(name);
  impl_->tables.erase(table->record.id);
  return {};
}

std::vector<TableStatus> TableCatalogue::list() const {
  std::vector<TableStatus> all;
  for (const auto& [name, id] : impl_->names) all.push_back(impl_->status(impl_->tables.at(id), false));
  return all;
}
Result<TableStatus> TableCatalogue::describe(const std::string& name) const {
  const Impl& impl = *impl_;
  WEFT_ASSIGN(const Impl::Table* const table, impl.table(name));
  return impl.status(*table, true);
}

Result<SnapshotId> TableCatalogue::begin_snapshot(const std::string& name, const std::string& snapshot, std::uint64_t token,
                                                  std::int64_t clock_ms, Time now) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  if (!snapshot.empty()) {
    WEFT_TRY(check_table_name("snapshot", snapshot));
    for (const SnapshotRecord& known : table->record.snapshots)
      if (known.name == snapshot)
        return fail(Code::already_exists, fmt::format("the table '{}' has a snapshot '{}'", name, snapshot));
  }
  if (table->record.snapshots.size() + table->making.size() >= kMostSnapshots)
    return fail(Code::resource_exhausted, fmt::format("the table '{}' has {} snapshots already; drop some", name, kMostSnapshots));
  const SnapshotId id(impl_->next_id++);
  impl_->dirty_ids = true;
  table->making[id] = {id, snapshot, clock_ms, token};
  if (snapshot.empty()) table->leases[id.value()] = now + impl_->options.client_lease;
  return id;
}

Result<SnapshotId> TableCatalogue::made_before(const std::string& name, std::uint64_t token) const {
  const Impl& impl = *impl_;
  WEFT_ASSIGN(const Impl::Table* const table, impl.table(name));
  for (const SnapshotRecord& known : table->record.snapshots)
    if (token != 0 && known.token == token) return known.id;
  return SnapshotId();
}

Result<void> TableCatalogue::complete_snapshot(const std::string& name, SnapshotId id) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  const auto made = table->making.find(id);
  if (made == table->making.end()) return fail(Code::unavailable, fmt::format("the snapshot of '{}' was given up", name));
  SnapshotRecord record = std::move(made->second);
  table->making.erase(made);
  if (record.name.empty() && !table->leases.contains(id.value()))
    return fail(Code::unavailable, fmt::format("the snapshot of '{}' took too long", name));
  table->record.snapshots.push_back(std::move(record));
  impl_->changed(*table);
  return {};
}

Result<void> TableCatalogue::drop_snapshot(const std::string& name, const std::string& snapshot, SnapshotId id) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  auto& known = table->record.snapshots;
  const bool made = std::erase_if(known, [&](const SnapshotRecord& one) {
                      return id == SnapshotId() ? !snapshot.empty() && one.name == snapshot : one.id == id;
                    }) > 0;
  if (!made && table->making.erase(id) == 0)
    return fail(Code::not_found, fmt::format("the table '{}' has no snapshot '{}'", name,
                                             snapshot.empty() ? std::to_string(id.value()) : escaped(snapshot)));
  table->leases.erase(id.value());
  impl_->changed(*table);
  return {};
}

Result<TransactionId> TableCatalogue::begin(const std::string& name, Time now) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  if (table->record.transactions.size() >= kMostTransactions)
    return fail(Code::resource_exhausted,
                fmt::format("{} jobs write the table '{}' already; wait for some to end", kMostTransactions, name));
  const TransactionId id(impl_->next_id++);
  impl_->dirty_ids = true;
  table->record.transactions.push_back(id);
  table->leases[id.value()] = now + impl_->options.client_lease;
  impl_->changed(*table);
  return id;
}

Result<void> TableCatalogue::renew(const std::string& name, std::uint64_t id, Time now) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  const auto lease = table->leases.find(id);
  if (lease == table->leases.end())
    return fail(Code::not_found,
                fmt::format("what was kept of the table '{}' for this program is gone: it was silent for too long", name));
  lease->second = now + impl_->options.client_lease;
  return {};
}

Result<void> TableCatalogue::abort(const std::string& name, TransactionId id) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  if (table->record.commit && table->record.commit->id == id)
    return fail(Code::invalid_argument, fmt::format("what was written to '{}' is being committed already", name));
  if (std::erase(table->record.transactions, id) == 0) return {};
  table->leases.erase(id.value());
  impl_->changed(*table);
  return {};
}

Result<bool> TableCatalogue::decide(const std::string& name, const TableCommit& commit) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  TableRecord& record = table->record;
  if (std::find(record.committed.begin(), record.committed.end(), commit.id) != record.committed.end()) return false;
  if (record.commit && record.commit->id == commit.id) return true;
  if (record.commit) return fail(Code::unavailable, fmt::format("another job's rows of '{}' are being committed", name));
  if (std::find(record.transactions.begin(), record.transactions.end(), commit.id) == record.transactions.end())
    return fail(Code::not_found,
                fmt::format("what was written to the table '{}' is gone: its writer was silent for too long", name));
  record.commit = commit;
  table->leases.erase(commit.id.value());
  impl_->changed(*table);
  return true;
}

Result<void> TableCatalogue::complete_commit(const std::string& name, TransactionId id) {
  WEFT_ASSIGN(Impl::Table* const table, impl_->table(name));
  TableRecord& record = table->record;
  if (!record.commit || record.commit->id != id) return {};
  record.commit.reset();
  std::erase(record.transactions, id);
  record.committed.push_back(id);
  if (record.committed.size() > kCommitsRemembered) record.committed.erase(record.committed.begin());
  impl_->changed(*table);
  return {};
}

std::vector<std::pair<std::string, TableCommit>> TableCatalogue::decided() const {
  std::vector<std::pair<std::string, TableCommit>> all;
  for (const auto& [id, table] : impl_->tables)
    if (table.record.commit) all.emplace_back(table.record.name, *table.record.commit);
  return all;
}

}  // namespace weft::storage::tables

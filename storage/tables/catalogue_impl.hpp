// The inside of the catalogue. Private to storage/tables.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/tables/catalogue.hpp"

namespace weft::storage::tables {

struct PartitionRecord {
  std::uint64_t epoch = 0, revision = 0;
  std::string primary;  // empty: none
  std::vector<std::string> members;
  std::vector<std::string> in_sync;  // have everything that was ever acknowledged
  bool made = false;                 // a primary has begun to use it
  std::uint64_t at_least = 0;        // all in sync have this version
};
struct SnapshotRecord {
  SnapshotId id;
  std::string name;
  std::int64_t made_ms = 0;
  std::uint64_t token = 0;  // of the request
};
struct TableRecord {
  TableId id;
  std::string name;
  std::uint32_t replication = 0;
  std::vector<PartitionRecord> partitions;
  std::vector<SnapshotRecord> snapshots;
  std::vector<TransactionId> transactions;
  std::optional<TableCommit> commit;
  std::vector<TransactionId> committed;  // the last ones, for those who ask again
  std::uint64_t token = 0;               // of the request that made it
};

inline bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class TableCatalogue::Impl {
 public:
  struct Table {
    TableRecord record;
    std::map<SnapshotId, SnapshotRecord> making;  // a restart forgets them
    std::map<std::uint64_t, Time> leases;         // of unnamed snapshots and transactions, until when
    std::set<std::uint32_t> resigning;  // partitions whose primary is to make room; a restart forgets them, and every primary
  };
  struct Node {
    TableNode site;
    bool live = false;
    Time lost_at{};
    Time leased_until{};
    std::map<PlaceId, ReplicaReport> replicas;
  };

  struct Load {
    std::size_t primaries = 0, members = 0;
  };
  using Loads = std::map<std::string, Load>;

  explicit Impl(CatalogueOptions given) : options(given) {}

  Result<Table*> table(const std::string& name);
  Result<const Table*> table(const std::string& name) const;
  const Node* live(const std::string& name) const;
  void changed(Table& table);  // for all its partitions
  void changed(Table& table, PartitionRecord& partition);
  Assignment assignment(const Table& table, std::uint32_t partition) const;
  PartitionStatus status(const Table& table, std::uint32_t partition, bool whole) const;
  TableStatus status(const Table& table, bool whole) const;
  void promote(Table& table, std::uint32_t partition);
  void become_primary(Table& table, std::uint32_t partition, const std::string& name, std::vector<std::string> in_sync);
  /// When nobody who has been told that he is primary can still think so.
  Time free_from(const PartitionRecord& partition) const;
  /// No member in sync can serve it, nor is about to.
  bool is_stranded(const Table& table, std::uint32_t partition, Time now) const;
  RemainingReplica remaining(const Table& table, std::uint32_t partition) const;
  /// Why the member cannot be primary; empty when it can.
  std::string flaw(const Table& table, std::uint32_t partition, const std::string& name) const;
  /// Its primary serves no more once it has heard of it; then somebody better becomes primary.
  void resign(Table& table, std::uint32_t partition);
  void look_after(Table& table, std::uint32_t partition, const Node& primary, Time now, Loads& loads);
  void drop_damaged(Table& table, std::uint32_t partition);
  void replace_lost(Table& table, std::uint32_t partition, Time now, Loads& loads);
  void move_away(Table& table, std::uint32_t partition, Time now);
  void drop_needless(Table& table, std::uint32_t partition);
  void expire(Table& table, Time now);
  /// For longer than it may take to come back.
  bool gone(const std::string& name, Time now) const { return away(name, now, options.lost_grace); }
  bool away(const std::string& name, Time now, Time time) const;
  /// The best worker for one more replica; empty when there is none.
  std::string choose(const std::vector<std::string>& members, const Loads& loads) const;
  /// Its replicas are to be on others.
  bool moves_away(const std::string& name) const {
    const auto leaves = leaving.find(name);
    return draining.contains(name) || (leaves != leaving.end() && !leaves->second);
  }
  bool stays(const std::string& name) const { return !draining.contains(name) && !leaving.contains(name); }
  /// A member, other than that one, that could be primary at once, and stays.
  bool has_successor(const Table& table, std::uint32_t partition, const std::string& than) const;
  Loads count_loads() const;
  std::optional<ReplicaState> state_of(const std::string& name, const PlaceId& place) const;  // nothing: not known
  bool needless(const std::string& node, const PlaceId& place) const;

  CatalogueOptions options;
  std::map<TableId, Table> tables;
  std::map<std::string, TableId> names;
  std::map<std::string, Node> nodes;
  std::uint64_t next_table = 1;
  std::uint64_t next_id = 1;  // of snapshots and transactions
  Time restored_at{};
  std::set<std::string> draining;
  std::map<std::string, bool> leaving;  // and whether it comes back

  std::set<TableId> dirty;  // also those that are gone
  bool dirty_ids = false;
  std::set<std::string> changed_workers;
};

}  // namespace weft::storage::tables

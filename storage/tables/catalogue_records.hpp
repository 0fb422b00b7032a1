// What the catalogue keeps of tables over restarts, as docs/formats/namespace.md lays it out.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "storage/tables/protocol.hpp"

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
  std::vector<TransactionId> committed;  // the last ones, for requests that are repeated
  std::uint64_t token = 0;               // of the request that made it
};

/// Whose a table is. A record of its own, which tables of earlier releases do not have.
struct AccessRecord {
  std::string owner;  // empty: nobody
  std::uint32_t mode = kOpenTableMode;
  TableKeys keys;
};

inline bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace weft::storage::tables

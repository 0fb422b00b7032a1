// The tables of a cluster, for the command line, jobs and users' programs.
//
//   auto tables = TableClient::connect("master:7077");
//   (*tables)->create("users", {});
//   (*tables)->put("users", {{"ann", "1"}, {"bob", std::nullopt}});   // a value, a deletion
//   auto now = (*tables)->snapshot("users", "monday");
//   auto values = (*tables)->get("users", {"ann"}, *now);
//
// Errors name the table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/retry.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::storage::tables {

struct TableClientOptions {
  std::string user{};  // for whom it asks (storage/acting_user.hpp); empty: the user of the process
  std::string host{};  // or name of the worker on this machine: snapshots are read there first; empty: this machine's name
  Duration patience = std::chrono::seconds(30);  // for a master or workers that are away
  Duration at_first = std::chrono::seconds(5);   // for a master that has not answered yet; `patience` at most
  Waiting waiting{};  // called once with what a call waits for, when that takes a while; empty: the log. Any thread
};

struct CreateTable {
  std::uint32_t partitions = kDefaultPartitions;
  std::uint32_t replication = 3;
};

/// from <= key, and key < to unless `to` is empty.
struct KeyRange {
  std::string from, to;
  static KeyRange prefix(const std::string& prefix);
};

/// A snapshot without a name. It is dropped with this object, or a minute after the program has died.
class TemporarySnapshot {
 public:
  virtual ~TemporarySnapshot() = default;
  virtual SnapshotId id() const = 0;
};

/// Rows in order of their keys. One thread.
class TableScan {
 public:
  virtual ~TableScan() = default;
  /// Null at the end. The row is valid until the next call.
  virtual Result<const TableRow*> next() = 0;
};

/// Any thread. Calls block; workers and masters that are away are waited for. Outlives its scans and snapshots.
class TableClient {
 public:
  /// Waits for a master that is away. `unavailable` names the address when none answers there in time.
  static Result<std::shared_ptr<TableClient>> connect(const std::string& master, TableClientOptions options = {});
  virtual ~TableClient() = default;

  /// Returns when the partitions can be used and, if there are enough workers, have their replicas.
  virtual Result<void> create(const std::string& table, const CreateTable& options) = 0;
  virtual Result<void> drop(const std::string& table) = 0;
  virtual Result<std::vector<TableStatus>> list() = 0;
  /// With partitions and replicas.
  virtual Result<TableStatus> describe(const std::string& table) = 0;

  /// Gives it another mode, or another owner. permission_denied: it belongs to somebody else; owners are changed by administrators.
  virtual Result<void> set_mode(const std::string& table, std::uint32_t mode) = 0;
  virtual Result<void> set_owner(const std::string& table, const std::string& user) = 0;

  /// The newest replicas of partitions that no member in sync can serve. With `accept_loss` these become primaries, and what they
  /// lack is lost. invalid_argument: there are no such partitions.
  virtual Result<std::vector<RemainingReplica>> promote_remaining(const std::string& table, bool accept_loss) = 0;

  /// After success the writes are durable on all live replicas of their partitions. Those of one partition that fit a message
  /// appear together, others need not; after an error some may be there.
  virtual Result<void> put(const std::string& table, std::vector<TableWrite> writes) = 0;
  /// The newest acknowledged values, or those of the snapshot; nothing for keys that are not there.
  virtual Result<std::vector<std::optional<std::string>>> get(const std::string& table, const std::vector<std::string>& keys,
                                                              SnapshotId snapshot = {}) = 0;
  /// The table at one moment: that of the snapshot, or of one that is made for the scan.
  virtual Result<std::unique_ptr<TableScan>> scan(const std::string& table, const KeyRange& range, SnapshotId snapshot = {}) = 0;
  /// Rows of one partition at a snapshot, in order of their keys.
  virtual Result<std::unique_ptr<TableScan>> scan_partition(const std::string& table, std::uint32_t partition,
                                                            SnapshotId snapshot) = 0;

  /// All partitions as they were at one moment between call and return: what was acknowledged before is in it, and what began after
  /// is not.
  virtual Result<SnapshotId> snapshot(const std::string& table, const std::string& name) = 0;
  virtual Result<std::unique_ptr<TemporarySnapshot>> temporary_snapshot(const std::string& table) = 0;
  virtual Result<SnapshotId> find_snapshot(const std::string& table, const std::string& name) = 0;
  virtual Result<void> drop_snapshot(const std::string& table, const std::string& name) = 0;

  /// Rows that become visible together, or not at all. Kept while this client lives, and a minute longer.
  virtual Result<TransactionId> begin(const std::string& table) = 0;
  /// Keeps a transaction or a temporary snapshot of another client, which may have ended less than a minute ago.
  virtual void resume(const std::string& table, std::uint64_t id) = 0;
  /// Sets rows aside under a token, which stands for one attempt of a task.
  virtual Result<void> stage(const std::string& table, TransactionId id, std::uint64_t token, std::vector<TableWrite> writes) = 0;
  /// The rows that were staged under these tokens become visible at one version; the others are dropped. Repeating it is fine. Of a
  /// key that is written several times, one value stays.
  virtual Result<void> commit(const std::string& table, TransactionId id, std::vector<std::uint64_t> tokens) = 0;
  /// already_exists: its commit is decided, or done.
  virtual Result<void> abort(const std::string& table, TransactionId id) = 0;
};

}  // namespace weft::storage::tables

// Snapshots and commits of tables: what all partitions of a table do at one point of time. The coordinator of a two-phase commit:
// all primaries hold, the decision is made durable, all carry it out, and then they go on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/log.hpp"
#include "base/result.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "engine/master/storage/table_barrier.hpp"
#include "storage/tables/catalogue.hpp"

namespace weft::master {

/// On the reactor's thread. Callbacks come later, never from within a call, once, and none after destruction. A table's requests
/// are carried out one after the other. They fail with unavailable while too many wait, and while a partition has no primary.
class TableCoordinator {
 public:
  struct Parts {
    rpc::Reactor& reactor;
    storage::tables::TableCatalogue& catalogue;
    TableBarrier::Ask ask;
    std::function<storage::Time()> now;
    /// Makes durable what the catalogue's take_changes() gives, sends it to workers, then calls back.
    std::function<void(Published)> publish;
  };
  explicit TableCoordinator(Parts parts) : parts_(std::move(parts)), barrier_(parts_.reactor, parts_.ask) {}

  using OnSnapshot = std::function<void(Result<storage::tables::SnapshotId>)>;
  /// The snapshot is durable in every partition; after an error there is none.
  void take_snapshot(storage::tables::TakeSnapshot request, std::int64_t clock_ms, OnSnapshot done);

  using OnDone = std::function<void(Result<void>)>;
  /// Success: every member in sync of every partition has the rows on its disk, and every read from now on sees them. An error may
  /// come although the commit was decided: then it is carried out all the same, and a repeated request succeeds.
  void commit(storage::tables::CommitTransaction request, OnDone done);

  /// To be called now and then: carries out what was decided and is not being carried out, as after a restart.
  void resume_commits();

 private:
  /// What a request for the table does when those before it are finished, unless its client has given up by then.
  void in_line(const std::string& table, storage::Time patience, std::function<void(const Error&)> refused, TableBarrier::Job job);
  /// The table, if every partition of it has a primary.
  Result<storage::tables::TableStatus> led(const std::string& table) const;
  /// Whether the partitions have the same primaries as then, in the same epochs: what these held, they still hold.
  bool led_as_before(const storage::tables::TableStatus& before) const;
  void make_snapshot(const storage::tables::TakeSnapshot& request, std::int64_t clock_ms, const OnSnapshot& done,
                     const std::function<void()>& finished);
  void hold_and_decide(const storage::tables::CommitTransaction& request, const OnDone& done,
                       const std::function<void()>& finished);
  void decided(const storage::tables::CommitTransaction& request, std::uint64_t ticket, const OnDone& done,
               const std::function<void()>& finished);
  /// Until all partitions have it.
  void carry_out(const std::string& table, const storage::tables::TableCommit& commit, std::uint64_t ticket,
                 std::function<void()> done);
  /// Ends the holds of this ticket and of earlier ones, repeated until every partition's primary knows it.
  void release(const std::string& table, std::uint64_t ticket);
  void release_some(const storage::tables::TableStatus& table, const TableBarrier::Partitions& partitions, std::uint64_t ticket,
                    bool again);
  void release_again(const std::string& table);

  const Parts parts_;
  Log log_{"tables"};
  TableBarrier barrier_;
  std::set<std::string> under_way_;  // tables whose decided commit is in line to be carried out
  /// Partitions that may be held although nothing needs that.
  struct Unreleased {
    std::uint64_t ticket = 0;
    TableBarrier::Partitions partitions;
  };
  std::map<std::string, Unreleased> unreleased_;  // by table; each is tried again until it is empty
};

}  // namespace weft::master

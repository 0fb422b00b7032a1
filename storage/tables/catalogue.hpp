// The tables of a cluster: the workers that hold their partitions, the primary of each, and what is repaired. A deterministic state
// machine for the master: time is an argument, and there is no I/O.
//
// What must survive a restart comes out of take_changes(), and is made durable before any answer or order shows it. A worker gets
// its orders with the answer to its next heartbeat; changed_workers() names those that should send one at once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/namespace/lease_times.hpp"
#include "storage/namespace/types.hpp"
#include "storage/tables/catalogue_records.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::storage::tables {

struct CatalogueOptions {
  Time lease = std::chrono::seconds(2);          // of a primary that cannot reach the master
  Time client_lease = std::chrono::seconds(60);  // of unnamed snapshots and transactions nobody renews
  Time lost_grace = std::chrono::seconds(2);     // a lost worker may come back before its partitions are copied
  Time longest_step = std::chrono::seconds(5);   // the most that passes for clients' leases between two calls
};

/// A worker, by name: the same when it comes back.
struct TableNode {
  std::string name, host, rack, address;
};

/// One thread. Calls in any order are applied, or refused with a reason; a refusal changes nothing.
class TableCatalogue {
 public:
  explicit TableCatalogue(CatalogueOptions options = {}) : options_(options), leases_(options.client_lease) {}

  /// Restart: each Change that was made durable, then restored(). Keys begin with 't', or with kTableLeaseTimes.
  Result<void> restore(std::string_view key, std::string_view value);
  void restored(Time now);

  // ---- what clients ask for

  /// Partitions go to as many workers as wanted, spread over racks, or to as many as there are. unavailable when there is none.
  /// `token`: the same when a client asks again (0: none): then it is done already.
  Result<void> create(const std::string& name, std::uint32_t partitions, std::uint32_t replication, std::uint64_t token = 0,
                      AccessRecord access = {});
  /// Drops the table if it has this id, or whatever id it has when that is 0.
  Result<void> drop(const std::string& name, TableId id = {});
  std::vector<TableStatus> list() const;
  Result<TableStatus> describe(const std::string& name) const;
  /// With the keys of the rights that this user has, and why he has not the others.
  Result<TableStatus> describe(const std::string& name, const Actor& actor) const;

  // Rights. What does not exist is refused to nobody: the operation says so. Errors are permission_denied.
  Result<void> may(const Actor& actor, const std::string& table, TableRight right) const;
  /// It is his.
  Result<void> may_own(const Actor& actor, const std::string& table, std::string_view what) const;
  /// `keys`: new ones, which replace those that users without a right may still have.
  Result<void> set_mode(const std::string& table, std::uint32_t mode, TableKeys keys);
  Result<void> set_owner(const std::string& table, const std::string& user, TableKeys keys);
  /// Of a snapshot: whether it has a name. False when there is no such snapshot.
  bool is_named(const std::string& table, SnapshotId id) const;

  /// A snapshot begins to be made: partitions keep it from now on. complete_snapshot() when all of them have marked it.
  Result<SnapshotId> begin_snapshot(const std::string& table, const std::string& name, std::uint64_t token, std::int64_t clock_ms,
                                    Time now);
  /// What a request with this token has made before; 0 when there is nothing.
  Result<SnapshotId> made_before(const std::string& table, std::uint64_t token) const;
  Result<void> complete_snapshot(const std::string& table, SnapshotId id);
  /// Partitions drop it by and by. Unknown ones are not_found.
  Result<void> drop_snapshot(const std::string& table, const std::string& name, SnapshotId id);
  Result<TransactionId> begin(const std::string& table, Time now);
  Result<void> renew(const std::string& table, std::uint64_t id, Time now);
  /// already_exists: its commit is decided, or was carried out as far back as that is remembered. Nothing when it is gone.
  Result<void> abort(const std::string& table, TransactionId id);
  /// It was decided and carried out, as far back as that is remembered.
  bool is_committed(const std::string& table, TransactionId id) const;
  /// Decided: whatever happens, the partitions carry it out. False: it was done before. unavailable while another one is under way.
  Result<bool> decide(const std::string& table, const TableCommit& commit);
  /// All partitions have carried it out.
  Result<void> complete_commit(const std::string& table, TransactionId id);
  /// Tables with a commit that was decided and not completed.
  std::vector<std::pair<std::string, TableCommit>> decided() const;

  /// What is left of the partitions that no member in sync can serve: none of them is there, or has what it had. With `accept_loss`
  /// the newest replica of each becomes primary, and the only one in sync: what it lacks is lost, also when the others come back.
  /// It may lack rows of transactions: those that are not decided are over. invalid_argument: there is no such partition.
  Result<RemainingReplicas> promote_remaining(const std::string& table, bool accept_loss, Time now);

  // ---- what workers report

  /// The answer to a worker's heartbeat: assignments of which it reports another revision, of about 8 MiB at most, but at least
  /// one. Where there are more, it is among changed_workers().
  TableOrders heartbeat(const TableNode& node, const TableHeartbeat& message, Time now);
  void node_lost(const std::string& name, Time now);
  /// Partitions move from the worker to others, as soon as these have them; it gets no new ones. Not kept over a restart.
  void drain(const std::string& name, bool on);
  /// The worker is about to end. Others become primary where they can. With `returns` it comes back with its replicas, so that
  /// each partition needs one other member that has everything; otherwise partitions move as from a drained worker. Until
  /// node_left().
  void node_leaves(const std::string& name, bool returns);
  void node_left(const std::string& name);
  /// Partitions for which a worker that leaves should stay a little longer.
  std::size_t to_hand_over(const std::string& name) const;
  /// Partitions the worker still keeps.
  std::size_t replicas_on(const std::string& name) const;
  /// True: changed. False: refused. `assignment` is set to the current one, if there is such a partition.
  bool change_in_sync(const std::string& sender, const InSyncChange& change, Assignment& assignment);

  /// Promotions, replacements of lost replicas, what nobody renews. To be called several times a second.
  void tick(Time now);
  std::vector<Change> take_changes();
  /// Workers whose orders have changed since the last call.
  std::set<std::string> changed_workers();

 private:
  struct Table {
    TableRecord record;
    std::map<SnapshotId, SnapshotRecord> making;  // a restart forgets them
    std::set<std::uint32_t> resigning;            // partitions whose primary is to stop; a restart forgets them, and every primary
  };
  struct Node {
    TableNode site;
    bool live = false;
    Time lost_at{};
    Time leased_until{};
    std::map<PlaceId, ReplicaReport> replicas;
  };

  /// How well a member can serve. Damaged and full ones serve what can be read, while no other can.
  enum class Fitness { none, damaged, full, good };

  struct Load {
    std::size_t primaries = 0, members = 0;
  };
  using Loads = std::map<std::string, Load>;

  Result<Table*> find(const std::string& name);
  Result<const Table*> find(const std::string& name) const;
  const Node* live(const std::string& name) const;
  void changed(Table& table);  // for all its partitions
  void changed(Table& table, PartitionRecord& partition);
  const AccessRecord& access_of(const Table& table) const;
  Result<void> set_access(const std::string& name, TableKeys keys, const std::function<Result<void>(AccessRecord&)>& change);
  Assignment assignment_of(const Table& table, std::uint32_t partition) const;
  PartitionStatus status(const Table& table, std::uint32_t partition, bool whole) const;
  TableStatus status(const Table& table, bool whole) const;
  void promote(Table& table, std::uint32_t partition);
  void become_primary(Table& table, std::uint32_t partition, const std::string& name, std::vector<std::string> in_sync);
  /// When no worker that was made primary can still act as one.
  Time free_from(const PartitionRecord& partition) const;
  /// No member in sync can serve it, nor is about to.
  bool is_stranded(const Table& table, std::uint32_t partition, Time now) const;
  RemainingReplica remaining(const Table& table, std::uint32_t partition) const;
  /// Why the member cannot be primary; empty when it can.
  std::string flaw(const Table& table, std::uint32_t partition, const std::string& name) const;
  /// All of the table that are not decided.
  void end_transactions(Table& table);
  bool is_good(const Table& table, std::uint32_t partition, const std::string& name) const {
    return flaw(table, partition, name).empty();
  }
  Fitness fitness(const Table& table, std::uint32_t partition, const std::string& name) const;
  std::vector<std::string> fittest(const Table& table, std::uint32_t partition) const;
  /// The primary is ordered to stop; when it has, a better member becomes primary.
  void resign(Table& table, std::uint32_t partition);
  void replace_primary(Table& table, std::uint32_t partition, Time now);
  void look_after(Table& table, std::uint32_t partition, const Node& primary, Time now, Loads& loads);
  void drop_damaged(Table& table, std::uint32_t partition);
  void replace_lost(Table& table, std::uint32_t partition, Time now, Loads& loads);
  void move_away(Table& table, std::uint32_t partition, Time now);
  void drop_needless(Table& table, std::uint32_t partition);
  /// The clock of leases_: as long as the master was stopped, or its disk full, nobody could renew.
  Time lease_time(Time now);
  /// What nobody has renewed goes.
  void expire(Time now);
  static std::vector<std::uint64_t> leased(const Table& table);
  /// For longer than a worker may take to come back.
  bool gone(const std::string& name, Time now) const { return away(name, now, options_.lost_grace); }
  bool away(const std::string& name, Time now, Time time) const;
  /// The best worker for one more replica; empty when there is none.
  std::string choose(const std::vector<std::string>& members, const Loads& loads) const;
  /// Whether its replicas move to other workers.
  bool moves_away(const std::string& name) const {
    const auto leaves = leaving_.find(name);
    return draining_.contains(name) || (leaves != leaving_.end() && !leaves->second);
  }
  bool stays(const std::string& name) const { return !draining_.contains(name) && !leaving_.contains(name); }
  /// A member, other than that one, that could be primary at once, and stays.
  bool has_successor(const Table& table, std::uint32_t partition, const std::string& than) const;
  Loads count_loads() const;
  std::optional<ReplicaState> state_of(const std::string& name, const PlaceId& place) const;  // nothing: not known
  /// The worker's replica can go: as many others as wanted have everything, and were heard of a moment ago.
  bool needless(const std::string& node, const PlaceId& place, Time now) const;

  CatalogueOptions options_;
  std::map<TableId, Table> tables_;
  std::map<TableId, AccessRecord> access_;  // none: a table of an earlier release
  std::map<std::string, TableId> names_;
  std::map<std::string, Node> nodes_;
  std::uint64_t next_table_ = 1;
  std::uint64_t next_id_ = 1;  // of snapshots and transactions
  LeaseTimes leases_;          // of unnamed snapshots and transactions
  Time lease_clock_{}, lease_clock_set_{};
  Time restored_at_{};
  std::set<std::string> draining_;
  std::map<std::string, bool> leaving_;  // and whether it comes back

  std::set<TableId> dirty_, dirty_access_;  // also those that are gone
  bool dirty_ids_ = false;
  std::set<std::string> changed_workers_;
};

}  // namespace weft::storage::tables

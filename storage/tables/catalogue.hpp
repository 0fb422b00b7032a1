// Which tables there are, on which workers their partitions lie, who is primary of each, and what is to be done about it. A
// deterministic state machine for the master: time is an argument, and there is no I/O.
//
// What must survive a restart comes out of take_changes(), to be durable before anyone hears of it. Workers hear with their next
// heartbeat; changed_workers() says who should send one at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/namespace/types.hpp"
#include "storage/tables/protocol.hpp"

namespace weft::storage::tables {

struct CatalogueOptions {
  Time lease = std::chrono::seconds(2);          // of a primary that hears nothing of the master
  Time client_lease = std::chrono::seconds(60);  // of unnamed snapshots and transactions nobody renews
  Time lost_grace = std::chrono::seconds(2);     // a lost worker may come back before its partitions are copied
};

/// A worker, by name: the same when it comes back.
struct TableNode {
  std::string name, host, rack, address;
};

/// One thread. Calls in any order are applied, or refused with a reason; a refusal changes nothing.
class TableCatalogue {
 public:
  explicit TableCatalogue(CatalogueOptions options = {});
  TableCatalogue(TableCatalogue&&) noexcept;
  TableCatalogue& operator=(TableCatalogue&&) noexcept;
  ~TableCatalogue();

  /// Restart: each Change that was made durable, then restored(). Keys begin with 't'. Leases begin again.
  Result<void> restore(std::string_view key, std::string_view value);
  void restored(Time now);

  // ---- what clients ask for

  /// Partitions go to as many workers as wanted, spread over racks, or to as many as there are. unavailable when there is none.
  /// `token`: the same when a client asks again (0: none): then it is done already.
  Result<void> create(const std::string& name, std::uint32_t partitions, std::uint32_t replication, std::uint64_t token = 0);
  /// Of this id only, unless it is 0.
  Result<void> drop(const std::string& name, TableId id = {});
  std::vector<TableStatus> list() const;
  Result<TableStatus> describe(const std::string& name) const;

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
  Result<void> abort(const std::string& table, TransactionId id);
  /// Decided: whatever happens, the partitions carry it out. False: it was done before. unavailable while another one is under way.
  Result<bool> decide(const std::string& table, const TableCommit& commit);
  /// All partitions have carried it out.
  Result<void> complete_commit(const std::string& table, TransactionId id);
  /// Tables with a commit that was decided and not completed.
  std::vector<std::pair<std::string, TableCommit>> decided() const;

  /// What is left of the partitions that no member in sync can serve: none of them is there, or has what it had. With `accept_loss`
  /// the newest replica of each becomes primary, and the only one in sync: what it lacks is lost, also when the others come back.
  /// invalid_argument: there is no such partition.
  Result<RemainingReplicas> promote_remaining(const std::string& table, bool accept_loss, Time now);

  // ---- what workers say

  /// The answer to a worker's heartbeat. Refused when it was called another name before it was lost.
  TableOrders heartbeat(const TableNode& node, const TableHeartbeat& message, Time now);
  void node_lost(const std::string& name, Time now);
  /// Partitions move from the worker to others, as soon as these have them; it gets no new ones. Not kept over a restart.
  void drain(const std::string& name, bool on);
  /// The worker is about to end. Others become primary where they can. `returns`: with its replicas, so that partitions need one
  /// other that has everything; otherwise they move as from a drained worker. Until it has left.
  void node_leaves(const std::string& name, bool returns);
  void node_left(const std::string& name);
  /// Partitions for whose sake a worker that leaves should stay a little.
  std::size_t to_hand_over(const std::string& name) const;
  /// Partitions the worker still keeps.
  std::size_t replicas_on(const std::string& name) const;
  /// True: it is so now. False: refused; the assignment says what is.
  bool change_in_sync(const std::string& sender, const InSyncChange& change, Assignment& assignment);

  /// Promotions, replacements of lost replicas, what nobody renews. To be called several times a second.
  void tick(Time now);
  std::vector<Change> take_changes();
  /// Workers whose orders have changed since the last call.
  std::set<std::string> changed_workers();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::storage::tables

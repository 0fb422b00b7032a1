// Messages about tables, between clients, workers and the master; docs/formats/tables.md. Keys and values travel in headers, so
// the frame's checksum covers those too.
//
// The other side may be of another release: each operation is a struct of its own, field by field in protocol.capnp
// (base/rpc/versioned.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "storage/reply.hpp"
#include "storage/tables/types.hpp"

namespace weft::storage::tables {

enum TableMessage : rpc::MessageType {
  kTableRequest = 503,      // request, client to master: TableRequest -> TableReply
  kTableHeartbeat = 520,    // request, registered worker to master: TableHeartbeat -> TableOrders
  kInSyncChange = 521,      // request, registered worker to master: InSyncChange -> TableOrders with the partition's assignment
  kTableOrdersWait = 522,   // notification, master to worker: nothing; a heartbeat should come at once
  kPartitionRequest = 601,  // request, anybody to a worker's data port: PartitionRequest -> PartitionReply
};
inline constexpr rpc::MessageType kFirstTableMessage = 600, kLastTableMessage = 609;

inline constexpr std::chrono::seconds kHoldLasts{30};     // without a further message of the master
inline constexpr std::chrono::seconds kHoldDecisive{10};  // after that the master decides nothing that depends on the hold

inline constexpr std::chrono::seconds kSnapshotDeadline{15};  // a client waits for so long, and then asks again
inline constexpr std::chrono::minutes kCommitDeadline{10};

inline constexpr std::size_t kMostBatchBytes = 24u << 20;  // keys and values in one message

// ---- clients and the master -----------------------------------------------------------------------------------------

struct MemberStatus {
  std::string name, host, rack, address;  // address: of its data port; empty when it is not there
  bool in_sync = false;
};
struct PartitionStatus {
  std::uint64_t epoch = 0;
  std::string primary;
  std::vector<MemberStatus> members;
  std::uint64_t bytes = 0;
  std::string fault;  // why it cannot be used, as far as known
};
struct SnapshotStatus {
  SnapshotId id;
  std::string name;  // empty: of a scan or a job, while that lasts
  std::int64_t made_ms = 0;
};
struct TableStatus {
  TableId id;
  std::string name;
  std::uint32_t partition_count = 0, replication = 0;
  std::uint64_t bytes = 0;
  std::uint32_t short_partitions = 0;  // with fewer replicas in sync than wanted
  std::uint32_t down_partitions = 0;   // without a primary
  std::vector<SnapshotStatus> snapshots;
  std::vector<PartitionStatus> partitions;
  std::string owner;       // empty: nobody, as of tables of earlier releases
  std::uint32_t mode = 0;  // 0640; 0: of a master of an earlier release, which does not say
  // What follows is for the user who asked. A list of tables does not have it.
  std::string read_refusal, write_refusal;  // why he may not; empty: he may
  TableKeys keys;                           // of the rights that he has
};
struct TableList {
  std::vector<TableStatus> tables;  // without partitions
};
struct TakenSnapshot {
  SnapshotId id;
};
struct BegunTransaction {
  TransactionId id;
};
/// What is left of a partition that no member in sync can serve.
struct RemainingReplica {
  std::uint32_t partition = 0;
  std::string worker;         // that has the newest replica; empty: none has one
  std::uint64_t version = 0;  // its last
  std::uint64_t known = 0;    // a version that was acknowledged, the highest the master knows of
  std::string fault;          // why no member in sync can serve it
  bool promoted = false;
};
struct RemainingReplicas {
  std::vector<RemainingReplica> replicas;
};
using TableReply = std::variant<Done, TableStatus, TableList, TakenSnapshot, BegunTransaction, RemainingReplicas>;

/// `token`, here and below: chosen by the client, the same when it repeats the request.
struct MakeTable {
  std::string table;
  std::uint32_t partitions = 0, replication = 0;
  std::uint64_t token = 0;
  using Reply = Done;
};
struct DropTable {
  std::string table;
  TableId id;  // of the one that is meant; 0: whatever has that name
  using Reply = Done;
};
struct ListTables {
  using Reply = TableList;
};
struct DescribeTable {
  std::string table;
  using Reply = TableStatus;
};
struct TakeSnapshot {
  std::string table;
  std::string name;  // empty: it goes when it is not renewed
  std::uint64_t token = 0;
  using Reply = TakenSnapshot;
};
struct DropSnapshot {
  std::string table;
  SnapshotId id;
  using Reply = Done;
};
/// Of an unnamed snapshot or a transaction.
struct RenewLease {
  std::string table;
  std::uint64_t id = 0;
  using Reply = Done;
};
struct BeginTransaction {
  std::string table;
  using Reply = BegunTransaction;
};
struct TableCommit {
  TransactionId id;
  std::vector<std::uint64_t> tokens;
};
struct CommitTransaction {
  std::string table;
  TableCommit commit;
  using Reply = Done;
};
struct AbortTransaction {
  std::string table;
  TransactionId id;
  using Reply = Done;
};
/// Reports what is left of partitions that no member in sync can serve. With `accept_loss` the newest replica of each becomes
/// primary, and what it lacks is lost.
struct PromoteRemaining {
  std::string table;
  bool accept_loss = false;
  using Reply = RemainingReplicas;
};
struct SetTableMode {
  std::string table;
  std::uint32_t mode = 0;
  using Reply = Done;
};
struct SetTableOwner {
  std::string table, user;
  using Reply = Done;
};
using TableRequest =
    std::variant<MakeTable, DropTable, ListTables, DescribeTable, TakeSnapshot, DropSnapshot, RenewLease, BeginTransaction,
                 CommitTransaction, AbortTransaction, PromoteRemaining, SetTableMode, SetTableOwner>;

// ---- workers and the master -------------------------------------------------------------------------------------------

struct Member {
  std::string name, address;
  bool in_sync = false;
  friend bool operator==(const Member&, const Member&) = default;
};

/// What a worker is to do with a partition. A later one has a higher revision; another primary, or the same after a restart, has a
/// higher epoch.
struct Assignment {
  PlaceId place;
  std::uint64_t epoch = 0, revision = 0;
  std::string primary;  // empty: none now
  std::vector<Member> members;
  std::vector<SnapshotId> snapshots;        // those that live, or are being made
  std::vector<TransactionId> transactions;  // those that are open
  std::uint64_t next_id = 0;                // ids of both from here on are newer than this
  std::optional<TableCommit> commit;        // decided: to be carried out before anything else is served
  bool made = false;                        // it holds data: members in sync must not begin with an empty database
  TableKeys keys;                           // what users' programs have to show; none: of a master of an earlier release
};

enum class ReplicaState : std::uint8_t {
  good = 0,
  opening = 1,
  absent = 2,   // there is no database
  failed = 3,   // it cannot be used
  damaged = 4,  // parts of it cannot be read; the rest is served while no other replica can
  full = 5,     // it takes no entries, mostly because its disk is full; it is served while no other replica can be
};

constexpr ReplicaState last_of(ReplicaState) { return ReplicaState::full; }
/// All entries that it has can be read.
constexpr bool is_whole(ReplicaState state) { return state == ReplicaState::good || state == ReplicaState::full; }

struct ReplicaReport {
  PlaceId place;
  std::uint64_t revision = 0;  // of the assignment it follows; 0: none
  std::uint64_t epoch = 0, last = 0, bytes = 0;
  std::string failure;  // why it cannot be used
  ReplicaState state = ReplicaState::good;
};
/// Of all replicas of a worker.
struct TableHeartbeat {
  static constexpr const char* kName = "heartbeat of tables";
  bool hello = false;   // the worker asks for its name and the cluster's; the other fields are unset
  bool first = false;   // since it registered
  std::string address;  // of its data port
  std::vector<ReplicaReport> replicas;
};
struct TableOrders {
  static constexpr const char* kName = "orders about tables";
  std::string cluster, name;  // the worker's
  std::int64_t lease_ms = 0;  // primaries may serve for so long from when the heartbeat was sent
  std::vector<Assignment> assignments;
  std::vector<PlaceId> erase;
  bool withheld = false;  // there may be others, which cannot be written down now
};
/// The primary wants exactly these members in sync. Refused (and the assignment says what is) when its revision is not the last.
struct InSyncChange {
  static constexpr const char* kName = "change of replicas";
  PlaceId place;
  std::uint64_t epoch = 0, revision = 0;
  std::vector<std::string> in_sync;
  std::uint64_t last = 0;  // all of them have this version; 0: of some it is not known yet what they have
};

// ---- a worker's partitions --------------------------------------------------------------------------------------------

/// The version that the partition has by then.
struct AtVersion {
  std::uint64_t version = 0;
};
struct FoundValue {
  std::optional<std::string> value;
};
struct Values {
  std::vector<FoundValue> values;  // of the keys in their order
};
struct Rows {
  std::vector<TableRow> rows;
  bool more = false;
};
struct StreamPosition {
  std::uint64_t version = 0, epoch = 0;  // of the last entry
  bool needs_copy = false;               // all of it must be copied again
};
struct CopiedPage {
  std::uint64_t session = 0;
  std::vector<std::pair<std::string, std::string>> records;  // none: all was sent
};
using PartitionReply = std::variant<Done, AtVersion, Values, Rows, StreamPosition, CopiedPage>;

// Of clients.
struct GetRows {
  SnapshotId snapshot;  // 0: what is newest
  std::vector<std::string> keys;
  using Reply = Values;
};
struct ScanRows {
  SnapshotId snapshot;
  std::string from, to;  // keys; an empty `to` is the end
  std::uint64_t limit = 0;
  using Reply = Rows;
};
/// `request`, here and below: chosen by the client, the same when it asks again, which it then says with `repeated`, and carried
/// out once. 0: each time.
struct PutRows {
  std::vector<TableWrite> writes;
  std::uint64_t request = 0;
  bool repeated = false;
  using Reply = AtVersion;
};
struct StageRows {
  TransactionId transaction;
  std::uint64_t token = 0;
  std::vector<TableWrite> writes;
  std::uint64_t request = 0;
  bool repeated = false;
  using Reply = AtVersion;
};

// Of the master to the primary of the epoch.
/// Nothing is written, and with `reads` nothing read, from the reply on.
struct Hold {
  std::uint64_t ticket = 0;
  bool reads = false;
  using Reply = AtVersion;
};
/// The snapshot is made, and the hold ends.
struct Mark {
  std::uint64_t ticket = 0;
  SnapshotId snapshot;
  using Reply = AtVersion;
};
struct Commit {
  std::uint64_t ticket = 0;
  TableCommit commit;
  using Reply = AtVersion;
};
/// A hold of this ticket or an earlier one ends; nor will there be another.
struct Release {
  std::uint64_t ticket = 0;
  using Reply = Done;
};

// Between replicas.
/// A stream from the primary at that address begins.
struct BeginStream {
  std::uint64_t stream = 0;
  std::string primary;
  using Reply = StreamPosition;
};
struct AppendEntries {
  std::uint64_t stream = 0;
  std::vector<LogEntry> entries;
  using Reply = AtVersion;
};
/// The receiver forgets everything and copies from the primary at that address. Answered at once.
struct StartCopy {
  std::uint64_t stream = 0;
  std::string primary;
  using Reply = Done;
};
struct NextPage {
  std::uint64_t session = 0;  // 0: a copy begins
  using Reply = CopiedPage;
};

using PartitionOperation = std::variant<GetRows, ScanRows, PutRows, StageRows, Hold, Mark, Commit, Release, BeginStream,
                                        AppendEntries, StartCopy, NextPage>;
struct PartitionRequest {
  PlaceId place{};
  std::uint64_t epoch = 0;  // of the primary that is meant or that asks; clients say none
  PartitionOperation operation{};
  std::uint64_t key = 0;  // of clients: that of the right which the operation needs
};

/// What a request of a client needs of its table: the right to read or to write it. Nothing: only masters and workers make it.
std::optional<TableRight> right_for(const PartitionOperation& operation);

rpc::Payload encode(const TableRequest& request);
rpc::Payload encode(const TableReply& reply);
rpc::Payload encode(const PartitionRequest& request);
rpc::Payload encode(const PartitionReply& reply);
rpc::Payload encode(const TableHeartbeat& heartbeat);
rpc::Payload encode(const TableOrders& orders);
rpc::Payload encode(const InSyncChange& change);
/// corrupt when the bytes are not one, or an operation that this version does not know.
Result<TableRequest> decode_table_request(const rpc::Message& message);
Result<TableReply> decode_table_reply(const rpc::Message& message);
/// Keys, values and numbers are within their limits.
Result<PartitionRequest> decode_partition_request(const rpc::Message& message);
Result<PartitionReply> decode_partition_reply(const rpc::Message& message);
/// Of TableHeartbeat, TableOrders or InSyncChange: corrupt, naming it (M::kName), when the bytes are none.
template <class M>
Result<M> decode(const rpc::Message& message);

}  // namespace weft::storage::tables

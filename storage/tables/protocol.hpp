// Messages about tables. Between clients, workers and the master; docs/formats/tables.md. Headers are the structs below as
// base/codec.hpp encodes them: keys and values travel in them, so the frame's checksum covers those too.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "storage/tables/types.hpp"

namespace weft::storage {

enum TableMessage : rpc::MessageType {
  kTableRequest = 501,      // request, client to master: TableRequest -> TableReply
  kTableBeat = 520,         // request, registered worker to master: TableBeat -> TableOrders
  kInSyncChange = 521,      // request, registered worker to master: InSyncChange -> TableOrders with the partition's assignment
  kTableNews = 522,         // notification, master to worker: nothing; a beat should come at once
  kPartitionRequest = 600,  // request, anybody to a worker's data port: PartitionRequest -> PartitionReply
};
inline constexpr rpc::MessageType kFirstTableMessage = 600, kLastTableMessage = 609;

inline constexpr std::chrono::seconds kHoldLasts{30};     // a hold that the master says nothing more of
inline constexpr std::chrono::seconds kHoldDecisive{10};  // later it decides nothing that was held for

inline constexpr std::size_t kMostBatchBytes = 24u << 20;  // keys and values in one message

// ---- clients and the master -----------------------------------------------------------------------------------------

/// Behind each, the fields of the request it uses, and what the reply has.
enum class TableOperation : std::uint16_t {
  create = 1,         // table, partitions, replication, tokens (one, the same when it is asked again)
  drop = 2,           // table, id (of the one that is meant, or 0)
  list = 3,           // -> tables without partitions
  describe = 4,       // table -> tables[0]
  snapshot = 5,       // table, name (empty: unnamed, goes when it is not renewed), tokens (as with create) -> id
  drop_snapshot = 6,  // table, name or id
  renew = 7,          // table, id (of an unnamed snapshot or a transaction)
  begin = 8,          // table -> id of a transaction
  commit = 9,         // table, id, tokens
  abort = 10,         // table, id
};

struct TableRequest {
  TableOperation operation{};
  std::string table{}, name{};
  std::uint32_t partitions = 0, replication = 0;
  std::uint64_t id = 0;
  std::vector<std::uint64_t> tokens{};
};

struct MemberStatus {
  std::string name, host, rack, address;  // address: of its data port; empty when it is not there
  bool in_sync = false;
};
struct PartitionStatus {
  std::uint64_t epoch = 0;
  std::string primary;
  std::vector<MemberStatus> members;
  std::uint64_t bytes = 0;
  std::string trouble;  // why it cannot be used, as far as known
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
};
struct TableReply {
  std::uint64_t id = 0;
  std::vector<TableStatus> tables;
};

// ---- workers and the master -------------------------------------------------------------------------------------------

struct Member {
  std::string name, address;
  bool in_sync = false;
  friend bool operator==(const Member&, const Member&) = default;
};
struct TableCommit {
  TransactionId id;
  std::vector<std::uint64_t> tokens;
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
  bool made = false;                        // it is in use: who is in sync had it, and never begins with an empty one
};

enum class ReplicaState : std::uint8_t {
  good = 0,
  opening = 1,
  absent = 2,  // there is no database
  failed = 3,  // it cannot be used
  hurt = 4,    // parts of it cannot be read; the rest is served while nobody else can
};

struct ReplicaReport {
  PlaceId place;
  std::uint64_t revision = 0;  // of the assignment it follows; 0: none
  std::uint64_t epoch = 0, last = 0, bytes = 0;
  std::string failure;  // why it cannot be used
  ReplicaState state = ReplicaState::good;
};
struct TableBeat {
  bool hello = false;   // the worker asks who it is and what cluster this is; the rest is not meant
  bool first = false;   // since it registered
  std::string address;  // of its data port
  std::vector<ReplicaReport> replicas;
};
struct TableOrders {
  std::string cluster, name;  // the worker's
  std::int64_t lease_ms = 0;  // primaries may serve for so long from when the beat was sent
  std::vector<Assignment> assignments;
  std::vector<PlaceId> erase;
};
/// The primary wants exactly these members in sync. Refused (and the assignment says what is) when its revision is not the last.
struct InSyncChange {
  PlaceId place;
  std::uint64_t epoch = 0, revision = 0;
  std::vector<std::string> in_sync;
  std::uint64_t last = 0;  // all of them have this version; 0: of some it is not known yet what they have
};

// ---- a worker's partitions --------------------------------------------------------------------------------------------

enum class PartitionOperation : std::uint16_t {
  get = 1,        // keys, id (snapshot or 0) -> values
  scan = 2,       // from, to, limit, id (snapshot) -> rows, more
  put = 3,        // writes
  stage = 4,      // id (transaction), token, writes
  hold = 10,      // epoch, id (ticket), more (reads too): nothing is served from the reply on
  mark = 11,      // epoch, id (ticket), token (snapshot): made, and the hold ends
  commit = 12,    // epoch, id (ticket), token (transaction), tokens
  release = 13,   // epoch, id (ticket): nor will there be a hold of this ticket, or an earlier one
  position = 20,  // epoch, id (of the stream that begins), from (the primary's address) -> version and epoch of the last entry
  entries = 21,   // epoch, id (stream), entries -> version
  copy = 22,      // epoch, from (the primary's address): forget all and copy from there; answered at once
  page = 23,      // epoch, id (0: begin), limit -> id, pages; none: all was sent
};

struct PartitionRequest {
  PartitionOperation operation{};
  PlaceId place{};
  std::uint64_t epoch = 0, id = 0, token = 0, limit = 0;
  bool more = false;
  std::string from{}, to{};
  std::vector<std::uint64_t> tokens{};
  std::vector<std::string> keys{};
  std::vector<TableWrite> writes{};
  std::vector<LogEntry> entries{};
};
struct PartitionReply {
  std::uint64_t version = 0, epoch = 0, id = 0;
  bool more = false;
  std::vector<std::optional<std::string>> values{};
  std::vector<TableRow> rows{};
  std::vector<std::pair<std::string, std::string>> page{};
};

template <class T>
rpc::Payload encode_table(const T& message) {
  Encoder out;
  Codec<T>::encode(message, out);
  return {Buffer::copy_of(out.view()), {}, {}};
}

/// corrupt when the bytes are not one.
Result<TableRequest> decode_table_request(const rpc::Message& message);
Result<TableReply> decode_table_reply(const rpc::Message& message);
Result<TableBeat> decode_table_beat(const rpc::Message& message);
Result<TableOrders> decode_table_orders(const rpc::Message& message);
Result<InSyncChange> decode_in_sync_change(const rpc::Message& message);
/// Keys, values and numbers are within their limits.
Result<PartitionRequest> decode_partition_request(const rpc::Message& message);
Result<PartitionReply> decode_partition_reply(const rpc::Message& message);

}  // namespace weft::storage

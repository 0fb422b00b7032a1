// Messages about files and chunks with the master: numbers 500 to 599 (docs/formats/files.md). The namespace's own types travel.
//
// The other side may be of another release: each operation is a struct of its own, field by field in protocol.capnp
// (base/rpc/versioned.hpp).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/rpc.hpp"
#include "storage/chunks/write_key.hpp"
#include "storage/namespace/types.hpp"
#include "storage/reply.hpp"

namespace weft::storage::files {

enum FileMessage : rpc::MessageType {
  kFileRequest = 502,    // request, client to master: FileRequest -> FileReply
  kStorageHello = 510,   // request, registered worker to master: nothing -> StorageSite
  kStorageJoin = 511,    // request, worker to master: StorageJoin -> nothing; then block reports
  kBlockReport = 512,    // notification, worker to master: ChunkReport
  kChunkUpdate = 513,    // notification, worker to master: ChunkUpdate
  kStorageSpace = 514,   // notification, worker to master: StorageJoin without an address, as a heartbeat
  kChunkCommands = 515,  // notification, master to worker: ChunkCommands, to be carried out in order
};

constexpr bool is_worker_notification(rpc::MessageType type) {
  return type == kBlockReport || type == kChunkUpdate || type == kStorageSpace;
}

// ---- clients and the master: one struct per operation, and what answers it -------------------------------------------

struct Leased {
  LeaseId lease;
  Duration length{0};  // after it was begun or renewed last; 0: unknown, of an older master
};
struct Allocated {
  ChunkId chunk;
  std::vector<NodeSite> targets;  // the pipeline in order
  std::uint64_t key = 0;          // to write it, for the workers; 0: of a master of an earlier release, whose workers ask for none
};
/// Entries of a directory. Fewer than kMostListed mean that there are no more.
struct Listing {
  std::vector<FileStatus> entries;
};
inline constexpr std::uint64_t kMostListed = 15'000;
struct Located {
  FileChunks file;
  std::vector<NodeSite> nodes;  // all that are named in it
  bool safe_mode = false;
};
struct Checked {
  std::vector<FileChunks> files;  // none: there are no more
  std::vector<NodeSite> nodes;    // all that are named in them
};
struct Users {
  std::vector<UserStatus> users;
};
using FileReply = std::variant<Done, Leased, Allocated, FileStatus, Listing, Located, Usage, Checked, Users, StorageReport>;

struct MakeDirectory {
  std::string path, user;
  bool parents = false;
  using Reply = Done;
};
/// A new directory that goes with its lease.
struct LeaseDirectory {
  std::string path, user;
  bool take_over = false;  // also one that this user has leased before
  using Reply = Leased;
};
struct CreateFile {
  std::string path, user;
  CreateOptions options;
  using Reply = Leased;
};
struct AllocateChunk {
  LeaseId lease;
  std::string writer;  // host of the writer, or the name of the worker there
  std::vector<NodeId> excluded;
  std::uint64_t bytes = 0;  // expected; 0: not known
  using Reply = Allocated;
};
struct SealChunk {
  LeaseId lease;
  ChunkInfo chunk;
  std::vector<NodeId> durable;
  using Reply = Done;
};
struct CompleteFile {
  LeaseId lease;
  using Reply = Done;
};
struct Abandon {
  LeaseId lease;
  using Reply = Done;
};
/// Older masters answer Done.
struct Renew {
  LeaseId lease;
  using Reply = Leased;
  static constexpr bool kAtOnce = true;
};
struct Remove {
  std::string path;
  bool recursive = false;
  EntryId id{};  // not_found when something else is there by then; 0: whatever is there, also of older clients
  using Reply = Done;
};
struct Rename {
  std::string from, to;
  bool replace = false;
  using Reply = Done;
};
struct SetReplication {
  std::string path;
  std::uint32_t replication = 0;
  using Reply = Done;
};
struct SetQuota {
  std::string user;
  Quota quota;
  using Reply = Done;
};
struct Stat {
  std::string path;
  using Reply = FileStatus;
  static constexpr bool kAtOnce = true;
};
/// kMostListed entries at most, behind the name `after`.
struct List {
  std::string path, after;
  using Reply = Listing;
  static constexpr bool kAtOnce = true;
};
/// The chunks that overlap [offset, offset + length).
struct Locate {
  std::string path;
  std::uint64_t offset = 0, length = 0;
  using Reply = Located;
  static constexpr bool kAtOnce = true;
};
struct AskUsage {
  std::string path;
  using Reply = Usage;
  static constexpr bool kAtOnce = true;
};
/// Files below the path, behind the path `after`.
struct Check {
  std::string path, after;
  std::uint64_t most = 0;
  using Reply = Checked;
  static constexpr bool kAtOnce = true;
};
struct ListUsers {
  using Reply = Users;
  static constexpr bool kAtOnce = true;
};
struct AskReport {
  using Reply = StorageReport;
  static constexpr bool kAtOnce = true;
};
struct Drain {
  std::string worker;
  bool on = false;
  using Reply = Done;
};
struct Balance {
  double threshold = 0;
  using Reply = Done;
};
struct LeaveSafeMode {
  using Reply = Done;
};
struct SetMode {
  std::string path;
  std::uint32_t mode = 0;
  bool recursive = false;
  using Reply = Done;
};
struct SetOwner {
  std::string path, user;
  bool recursive = false;
  using Reply = Done;
};
using FileRequest = std::variant<MakeDirectory, LeaseDirectory, CreateFile, AllocateChunk, SealChunk, CompleteFile, Abandon, Renew,
                                 Remove, Rename, SetReplication, SetQuota, Stat, List, Locate, AskUsage, Check, ListUsers,
                                 AskReport, Drain, Balance, LeaveSafeMode, SetMode, SetOwner>;

/// Answered at once, because it changes nothing that must be on the disk before.
template <class Operation>
concept AnsweredAtOnce = requires {
  Operation::kAtOnce;
};

rpc::Payload encode(const FileRequest& request);
rpc::Payload encode(const FileReply& reply);
/// corrupt when the bytes are not one, or an operation that this version does not know.
Result<FileRequest> decode_file_request(const rpc::Message& message);
Result<FileReply> decode_file_reply(const rpc::Message& message);

// ---- workers and the master ---------------------------------------------------------------------------------------------

struct StorageSite {
  static constexpr const char* kName = "storage site";
  bool enabled = false;  // the master keeps a namespace
  std::string cluster;
  WriteSecret secret;  // of this master, of which keys to write chunks are made
};
struct StorageJoin {
  static constexpr const char* kName = "storage join";
  std::string address;
  Space space;
};
struct ChunkReport {
  static constexpr const char* kName = "report of chunks";
  std::vector<ChunkInfo> chunks;
  bool first = false, last = false;
};
struct FailedCopy {
  ChunkId chunk;
  NodeId to;
  std::string reason;
};
struct ChunkNote {
  ChunkEvent event{};
  ChunkInfo chunk;  // of `sealed` all of it, else only the id
};
struct ChunkUpdate {
  static constexpr const char* kName = "update of chunks";
  std::vector<ChunkNote> notes;  // in the order in which it happened
  std::vector<FailedCopy> failed_copies;
};
/// Of one node.
struct ChunkCommands {
  static constexpr const char* kName = "commands about chunks";
  static constexpr bool kSkipsUnknown = true;
  std::vector<StorageCommand> commands;
};

rpc::Payload encode(const StorageSite& site);
rpc::Payload encode(const StorageJoin& join);
rpc::Payload encode(const ChunkReport& report);
rpc::Payload encode(const ChunkUpdate& update);
rpc::Payload encode(const ChunkCommands& commands);
/// Of one of these: corrupt, naming it (M::kName), when the bytes are none. With `skipped` commands of kinds that this release does
/// not know are left out, and counted there.
template <class M>
Result<M> decode(const rpc::Message& message, unsigned* skipped = nullptr);

}  // namespace weft::storage::files

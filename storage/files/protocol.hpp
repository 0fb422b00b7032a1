// Messages about files and chunks with the master: numbers 500 to 599. The namespace's own types travel.
#pragma once

#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

enum FileMessage : rpc::MessageType {
  kFileRequest = 500,    // request, client to master: FileRequest -> FileReply
  kStorageHello = 510,   // request, registered worker to master: nothing -> StorageSite
  kStorageJoin = 511,    // request, worker to master: StorageJoin -> nothing; then block reports
  kBlockReport = 512,    // notification, worker to master: ChunkReport
  kChunkNews = 513,      // notification, worker to master: ChunkNews
  kStorageSpace = 514,   // notification, worker to master: StorageJoin without an address, as a heartbeat
  kChunkCommands = 515,  // notification, master to worker: ChunkCommands, to be carried out in order
};

/// What a client asks for. Behind each, the fields of the request it uses, and what the reply has.
enum class Operation : std::uint16_t {
  make_directory = 1,  // path, user, flag (parents)
  create = 2,          // path, user, replication, chunk_bytes, flag (overwrite) -> lease
  allocate = 3,  // lease, other (writer's host or worker), nodes (excluded), length (expected, or 0) -> chunk, nodes (the pipeline)
  seal = 4,      // lease, chunk, nodes (durable)
  complete = 5,  // lease
  abandon = 6,   // lease
  renew = 7,     // lease
  remove = 8,    // path, flag (recursive)
  rename = 9,    // path, other (to), flag (replace)
  set_replication = 10,  // path, replication
  set_quota = 11,        // user, length (bytes), offset (entries)
  stat = 12,             // path -> files[0]
  list = 13,             // path, other (after), length (most) -> files
  locate = 14,           // path, offset, length -> files[0] with places, nodes
  usage = 15,            // path -> numbers
  check = 16,            // path, other (after), length (most) -> files with places, nodes
  users = 17,            // -> users
  report = 18,           // -> numbers, flag, balancing, nodes
  drain = 19,            // other (worker's name), flag (on)
  balance = 20,          // share
  leave_safe_mode = 21,
  lease_directory = 22,  // path, user -> lease
};

/// Entries in one answer to `list`; fewer mean that there are no more.
inline constexpr std::uint64_t kMostListed = 15'000;

struct FileRequest {
  Operation operation{};
  std::string path{}, other{}, user{};
  LeaseId lease{};
  bool flag = false;
  std::uint32_t replication = 0;
  std::uint64_t chunk_bytes = 0, offset = 0, length = 0;
  double share = 0;
  ChunkInfo chunk{};
  std::vector<NodeId> nodes{};
};

struct FilePlace {
  ChunkCheck chunk;
  std::uint64_t offset = 0;  // in its file
};
struct FileEntry {
  FileStatus status;
  std::vector<FilePlace> places;
};
struct FileReply {
  LeaseId lease;
  ChunkId chunk;
  std::vector<FileEntry> files;
  std::vector<NodeStorage> nodes;
  std::vector<UserStatus> users;
  Usage usage;
  StorageReport report;  // its nodes are those above
};

struct StorageSite {
  bool enabled = false;  // the master keeps a namespace
  std::string cluster;
};
struct StorageJoin {
  std::string address;
  Space space;
};
struct ChunkReport {
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
  ChunkInfo chunk;  // of sealed ones all, else the id
};
struct ChunkNews {
  std::vector<ChunkNote> notes;  // in the order in which it happened
  std::vector<FailedCopy> failed_copies;
};

rpc::Payload encode(const FileRequest& message);
rpc::Payload encode(const FileReply& message);
rpc::Payload encode(const StorageSite& message);
rpc::Payload encode(const StorageJoin& message);
rpc::Payload encode(const ChunkReport& message);
rpc::Payload encode(const ChunkNews& message);
/// Of one node; CopyChunk::from and EraseChunks::node do not travel.
rpc::Payload encode(const std::vector<StorageCommand>& commands);

Result<FileRequest> decode_file_request(const rpc::Message& message);
Result<FileReply> decode_file_reply(const rpc::Message& message);
Result<StorageSite> decode_storage_site(const rpc::Message& message);
Result<StorageJoin> decode_storage_join(const rpc::Message& message);
Result<ChunkReport> decode_chunk_report(const rpc::Message& message);
Result<ChunkNews> decode_chunk_news(const rpc::Message& message);
Result<std::vector<StorageCommand>> decode_chunk_commands(const rpc::Message& message);

}  // namespace weft::storage

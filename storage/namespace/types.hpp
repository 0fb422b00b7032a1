// The namespace's arguments and results: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "storage/chunks/chunk.hpp"

namespace weft::storage {

/// Time of the driver's steady clock.
using Time = std::chrono::nanoseconds;
using EntryId = Id<struct EntryTag, std::uint64_t>;  // a directory or a file; never reused
using LeaseId = Id<struct LeaseTag, std::uint64_t>;  // a file being written; never reused

inline constexpr std::uint64_t kSmallestChunkBytes = kPageBytes;
inline constexpr std::uint32_t kDefaultReplication = 3;
inline constexpr std::uint32_t kMostReplicas = 64;

struct NamespaceOptions {
  Time lease = std::chrono::seconds(60);          // of a writer that is silent
  Time reclaim_delay = std::chrono::seconds(60);  // from a deletion until the chunks go
  Time node_timeout = std::chrono::seconds(30);   // of a worker that is silent
  Time lost_grace = std::chrono::seconds(2);      // a lost worker may come back before its chunks are copied
  Time copy_timeout = std::chrono::minutes(2);    // of a copy that is not reported
  Time copy_backoff = std::chrono::seconds(1);    // after a copy that failed
  Time longest_step = std::chrono::seconds(5);    // the most that counts as passed between two calls
  double safe_fraction = 0.999;                   // of the chunks must have reported after a restart
  std::uint32_t copies_per_node = 4;              // each way
  std::uint64_t copy_bytes_in_flight = std::uint64_t{2} << 30;
  std::uint64_t seed = 1;
};

struct StorageNode {
  std::string name;  // the same when the worker comes back
  std::string host;  // what writers and tasks call its machine
  std::string rack;
  std::string address;  // of its chunk server
};
/// A node as others name it.
struct NodeSite {
  NodeId id;
  StorageNode node;
};
struct Space {
  std::uint64_t used = 0;  // by chunks
  std::uint64_t free = 0;  // for chunks: without the reserve
};

struct CreateOptions {
  std::uint32_t replication = kDefaultReplication;
  std::uint64_t chunk_bytes = kDefaultChunkBytes;
  bool overwrite = false;
  /// A hint: with the other files that are made so in its directory, each of its chunks has a replica in one rack, the same for all
  /// of them, where there is room. What reads them then finds all its input in that rack. Forgotten when the master restarts.
  bool together = false;
};

struct FileStatus {
  std::string path;
  bool directory = false;
  std::uint64_t bytes = 0;    // of a file
  std::uint64_t entries = 0;  // of a directory, directly in it
  std::uint32_t replication = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t chunks = 0;
  std::string user;
  std::int64_t modified_ms = 0;  // of the calendar, for people only
  EntryId id{};                  // stays the same when it is renamed; 0: an old master, which does not say
  std::uint32_t mode = 0;        // as of POSIX, without groups: 0644; 0 also of an old master, which does not say
};

/// The user for whom something is asked. An administrator may do all.
struct Actor {
  std::string_view user;
  bool administrator = false;
};

inline constexpr std::uint32_t kStickyMode = 01000;  // of a directory: only owners take names away
inline constexpr std::uint32_t kMostMode = 01777;
inline constexpr std::uint32_t kFileMode = 0644, kDirectoryMode = 0755, kRootMode = 01777;  // of what nobody gave another

/// A chunk of a file.
struct ChunkPlace {
  ChunkInfo info;
  std::uint64_t offset = 0;  // in its file
  std::uint32_t wanted = 0;  // replicas
  std::vector<NodeId> nodes;
  std::vector<NodeId> corrupt;  // that keep a damaged replica, until enough whole ones were verified
};
/// A file with some or all of its chunks, in order.
struct FileChunks {
  FileStatus file;
  std::vector<ChunkPlace> chunks;
};

/// Where the next chunk of a file goes: the pipeline in order. Fewer than wanted when there are no more nodes with room.
struct Allocation {
  ChunkId chunk;
  std::vector<NodeId> targets;
};

struct Usage {
  std::uint64_t directories = 0, files = 0, chunks = 0;
  std::uint64_t bytes = 0;         // of the files
  std::uint64_t stored_bytes = 0;  // times their replication
};

struct Quota {
  std::uint64_t bytes = 0;    // replicas counted; 0: no limit
  std::uint64_t entries = 0;  // files and directories; 0: no limit
};
struct UserStatus {
  std::string user;
  Quota quota;
  std::uint64_t bytes = 0, entries = 0;
};

struct NodeStorage {
  NodeId id;
  StorageNode node;
  Space space;
  std::uint64_t chunks = 0;
  bool draining = false;
  std::uint64_t to_move = 0;  // chunks that a drain still waits for
  bool reported = false;
};

/// The cluster's storage at a glance.
struct StorageReport {
  bool safe_mode = false;
  std::uint64_t directories = 0, files = 0, chunks = 0, open_files = 0;
  std::uint64_t reported_chunks = 0;  // with a replica at least
  std::uint64_t missing_chunks = 0;   // that no node has, whole or damaged
  std::uint64_t under_replicated = 0, over_replicated = 0, corrupt_replicas = 0;
  std::uint64_t copies = 0;  // in flight
  std::uint64_t trashed = 0;
  bool balancing = false;
  std::vector<NodeStorage> nodes;
};

// ---- commands to workers ------------------------------------------------------------------------------------------

/// `from` sends its replica to `to`; the pages that are damaged there it takes from the other sources.
struct CopyChunk {
  NodeId from;
  ChunkInfo chunk;
  NodeId to;
  std::string address;
  std::vector<std::string> sources;  // addresses of all that have it, whole or damaged, `from` first
};
struct EraseChunks {
  NodeId node;
  std::vector<ChunkId> chunks;
};
/// `node` reads its replica in full and reports whether it is whole.
struct VerifyChunk {
  NodeId node;
  ChunkId chunk;
};
using StorageCommand = std::variant<CopyChunk, EraseChunks, VerifyChunk>;

/// A key of the database and what it holds from now on; nothing: it is erased.
struct Change {
  std::string key;
  std::optional<std::string> value;
};

/// What the keys of the times of leases begin with, of files and of tables. Earlier releases pass over keys with '!'.
inline constexpr std::string_view kFileLeaseTimes = "!lf", kTableLeaseTimes = "!lt";
/// And those of which directory a lease is on.
inline constexpr std::string_view kLeasedDirectories = "!ld";

}  // namespace weft::storage

// The inside of the namespace, split by subject:
//   tree.cpp         directories and files          writes.cpp       leases, chunks being written
//   nodes.cpp        workers and their reports      replication.cpp  what to copy, what to erase
//   placement.cpp    where replicas go              balance.cpp      moves from full nodes
//   records.cpp      the durable form               questions.cpp    reports, fsck, usage
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "storage/namespace/namespace.hpp"

namespace weft::storage {

struct Account {
  std::string name;
  Quota quota;
  std::uint64_t bytes = 0, entries = 0;
};

/// A directory or a file. Owned by its parent's table, or by the trash.
struct Entry {
  using Children = std::map<std::string, std::unique_ptr<Entry>, std::less<>>;

  EntryId id;
  Entry* parent = nullptr;  // null: the root, or in the trash
  std::string_view name;    // the parent's key
  Account* account = nullptr;
  std::unique_ptr<Children> children;  // of a directory
  std::vector<ChunkId> chunks;
  std::uint64_t length = 0;
  std::uint64_t chunk_bytes = 0;
  std::int64_t modified_ms = 0;
  std::uint32_t replication = 0;

  bool directory() const { return children != nullptr; }
};

inline constexpr std::uint8_t kNotQueued = 255;

struct Chunk {
  ChunkInfo info;
  Entry* file = nullptr;      // null: of a file that is being written
  std::vector<NodeId> nodes;  // that have it, in order
  LeaseId lease{};
  std::uint8_t rank = kNotQueued;  // in the queue of what lacks replicas
  bool sealed = false;
  bool doomed = false;   // its file was removed
  bool blocked = false;  // no node could take a replica when last tried
  bool located = false;  // a node has it, whole or damaged
};

/// Of a chunk with damaged replicas. They are kept: page by page they may be all there is.
struct Damage {
  std::set<NodeId> nodes;      // that keep one
  std::set<NodeId> foreign;    // of these: something else under its id, of no use
  std::set<NodeId> verified;   // whose whole replica was read or written in full since
  std::uint32_t failures = 0;  // of copies, one after the other
};

struct OpenFile {
  /// A lease on a directory, not a file that is written: those have a replica at least.
  bool directory() const { return options.replication == 0; }

  LeaseId id;
  std::string path;
  Account* account = nullptr;
  CreateOptions options;
  Time expires{0};
  std::vector<ChunkId> chunks;  // sealed, in order
  std::uint64_t length = 0;
  ChunkId pending{};                                     // allocated; 0: none
  std::uint64_t pending_bytes = 0;                       // what room was looked for
  std::vector<NodeId> targets{};                         // of it
  std::vector<std::pair<NodeId, ChunkInfo>> reported{};  // replicas of it, as workers say
  std::vector<NodeId> gone{};                            // workers that said later that they have none
};

struct Node {
  NodeId id;
  StorageNode info;
  Space space;
  Time heard{0};
  bool draining = false;
  bool reported = false;  // all its chunks at least once
  bool full = false;      // for a chunk of usual size, when last looked at
  std::set<ChunkId> chunks;
  std::set<ChunkId> unreported;  // of a report that is under way
  bool reporting = false;
  std::uint32_t sending = 0, receiving = 0;  // copies
  std::uint32_t verifying = 0;               // chunks it was told to read
  std::uint64_t expected = 0;                // bytes of copies and pipelines on their way here
  std::set<ChunkId> erasing;                 // until it says that they are gone
  std::vector<ChunkId> to_erase;             // of them, not yet commanded
};

struct Copy {
  NodeId from, to;
  std::uint64_t bytes = 0;
  Time deadline{0};
  bool moves = false;  // the source's replica goes when it is done
};

struct Trashed {
  std::unique_ptr<Entry> entry;
  Time due{0};
};

class Namespace::Impl {
 public:
  explicit Impl(NamespaceOptions given);

  // tree.cpp
  Entry* find(std::string_view path) const;
  Result<Entry*> existing(std::string_view path) const;
  Result<Entry*> directory_for(std::string_view path) const;
  Result<void> make_directory(std::string_view path, std::string_view user, bool parents, std::int64_t clock_ms);
  Result<void> remove(std::string_view path, bool recursive, Time now);
  Result<void> rename(std::string_view from, std::string_view to, bool replace, Time now);
  Result<void> set_replication(std::string_view path, std::uint32_t replication);
  Result<void> set_quota(std::string_view user, const Quota& quota);
  Account& account(std::string_view user);
  Result<Account*> owner(std::string_view user, std::string_view path, std::size_t entries);
  Entry& link(Entry& directory, std::string_view name, std::unique_ptr<Entry> entry);
  std::unique_ptr<Entry> unlink(Entry& entry);
  void trash(std::unique_ptr<Entry> entry);
  void destroy(Entry& entry);
  void reclaim();
  static std::string path_of(const Entry& entry);
  static std::uint64_t stored(const Entry& entry) { return entry.length * entry.replication; }
  template <class Visit>
  static void each_below(Entry& entry, Visit&& visit) {
    visit(entry);
    if (entry.directory())
      for (auto& [name, child] : *entry.children) each_below(*child, visit);
  }

  // writes.cpp
  Result<OpenFile*> leased(LeaseId lease);
  Result<OpenFile*> open_file(LeaseId lease);
  OpenFile& open(std::string path, Account& account, const CreateOptions& options);
  Result<LeaseId> lease_directory(std::string_view path, std::string_view user, std::int64_t clock_ms, Time now);
  Result<LeaseId> create(std::string_view path, std::string_view user, const CreateOptions& options, Time now);
  Result<Allocation> allocate(LeaseId lease, std::string_view writer, const std::vector<NodeId>& excluded, Time now,
                              std::uint64_t bytes);
  Result<void> seal(LeaseId lease, const ChunkInfo& chunk, const std::vector<NodeId>& durable, Time now);
  Result<void> complete(LeaseId lease, std::int64_t clock_ms, Time now);
  void drop_pending(OpenFile& file);
  void drop(OpenFile& file);
  void expire_leases();

  // nodes.cpp
  Node* node(NodeId id);
  Result<Node*> known_node(NodeId id);
  Result<void> node_joined(NodeId id, StorageNode info, Space space, Time now);
  void node_lost(NodeId id);
  Result<void> heartbeat(NodeId id, Space space);
  Result<void> block_report(NodeId id, const std::vector<ChunkInfo>& chunks, bool first, bool last);
  Result<void> chunks_corrupt(NodeId id, const std::vector<ChunkId>& chunks);
  Result<void> chunks_erased(NodeId id, const std::vector<ChunkId>& chunks);
  Result<void> chunks_verified(NodeId id, const std::vector<ChunkId>& chunks);
  /// `checked`: it was compared with its digest just now, when it was written.
  void add_replica(Node& node, const ChunkInfo& info, bool checked);
  void remove_replica(Node& node, ChunkId id);
  void erase_at(Node& node, ChunkId id);
  std::vector<ChunkId> undamage(NodeId node);
  void undamage(NodeId node, ChunkId chunk);
  void found_corrupt(Node& node, Chunk& chunk, bool foreign);
  void lose_silent_nodes();
  Result<void> drain(std::string_view name, bool on);
  void update_safe_mode();
  void leave_safe_mode();

  // replication.cpp
  void reconsider(Chunk& chunk);
  void count_located(Chunk& chunk);
  const Damage* damage_of(ChunkId chunk) const;
  std::vector<NodeId> damaged_on(ChunkId chunk) const;
  void settle_damage(Chunk& chunk);
  void verify();
  void verify(const Chunk& chunk, const Damage& damage);
  void end_verification(ChunkId chunk, NodeId node);
  void unblock();
  void retry_blocked();
  void forget(ChunkId id);
  std::vector<std::string> sources_of(const Chunk& chunk, NodeId first) const;
  const Node* idle_source(const Chunk& chunk) const;
  bool start_copy(Chunk& chunk, NodeId from, NodeId to, bool moves);
  void end_copy(ChunkId chunk, NodeId to);
  Result<void> copy_failed(NodeId from, ChunkId chunk, NodeId to);
  void expire_copies();
  void replicate();
  bool replicate(Chunk& chunk);
  void remove_surplus();
  void drop_surplus(Chunk& chunk);
  void flush_erasures();
  class Balance;
  void balance();
  std::uint32_t wanted(const Chunk& chunk) const;
  std::uint32_t good(const Chunk& chunk) const;  // replicas that don't have to move
  std::uint64_t to_move(const Node& node) const;

  // placement.cpp
  std::vector<NodeId> choose(const Chunk& chunk, std::string_view writer, std::size_t count, const std::vector<NodeId>& excluded,
                             std::uint64_t bytes);
  bool has_room(const Node& node, std::uint64_t bytes) const;
  Node* best_of(const std::vector<Node*>& candidates, ChunkId chunk);
  bool one_rack_only(const std::vector<NodeId>& nodes) const;

  // records.cpp
  Result<void> restore(std::string_view key, std::string_view value);
  Result<void> restore_entry(std::string_view key, std::string_view value);
  Result<void> restore_open_file(std::string_view key, std::string_view value);
  Result<void> restore_chunk(std::string_view key, const ChunkInfo& info, Entry* entry, LeaseId lease);
  Result<void> restored(Time now);
  Result<void> link_restored();
  std::vector<Change> take_changes();
  void save(const Entry& entry) { dirty_entries[entry.id] = &entry; }
  void save(const OpenFile& file) { dirty_files[file.id] = &file; }
  ChunkId next_chunk();

  // questions.cpp
  FileStatus status_of(const Entry& entry, std::string path) const;
  FileChunks chunks_of(const Entry& entry, std::string path, std::uint64_t from, std::uint64_t to) const;
  StorageReport report() const;
  std::string describe() const;

  /// Moves the clock.
  void at(Time now);

  NamespaceOptions options;
  Time clock{0};     // advances by longest_step at most per call
  Time last_now{0};  // as the shell said

  std::unique_ptr<Entry> root;
  std::map<std::string, std::unique_ptr<Account>, std::less<>> accounts;
  std::map<EntryId, Trashed> trashed;
  std::map<LeaseId, OpenFile> open_files;
  std::map<LeaseId, Time> completed;  // lately, so that a repeated request finds out; until then
  std::unordered_map<ChunkId, Chunk> chunks;
  std::map<NodeId, Node> nodes;
  std::set<std::string, std::less<>> draining;  // names
  std::uint64_t next_entry = 2, next_lease = 1, next_chunk_id = 1, chunk_limit = 1, next_node = 1;
  std::uint64_t directories = 1, files = 0;

  std::set<std::pair<std::uint8_t, ChunkId>> needed;  // replicas, riskiest first
  std::set<ChunkId> blocked, surplus, missing;
  Time blocked_due{0};                                   // when some of the blocked are looked at again
  ChunkId last_retried;                                  // of them
  std::map<ChunkId, Damage> corrupt;                     // found, until enough verified replicas are there
  std::map<std::pair<ChunkId, NodeId>, Time> verifying;  // until when an answer is waited for
  std::map<std::pair<ChunkId, NodeId>, Copy> copies;     // by target
  std::map<ChunkId, Time> backoff;                       // copies that failed
  std::map<ChunkId, NodeId> moved_from;                  // this replica goes first
  std::map<Time, std::vector<ChunkId>> later;            // chunks of lost nodes
  std::uint64_t copy_bytes = 0;
  std::uint64_t sealed_chunks = 0, located_chunks = 0;
  bool safe_mode = false;
  std::optional<Time> safe_since;  // enough chunks have replicas
  std::optional<double> balancing;

  std::vector<StorageCommand> commands;
  std::map<EntryId, const Entry*> dirty_entries;  // null: erased
  std::map<LeaseId, const OpenFile*> dirty_files;
  std::set<LeaseId> dirty_completed;
  std::set<std::string> dirty_quotas, dirty_drains;
  bool dirty_ids = false;
  struct Restored {
    struct Item {
      std::unique_ptr<Entry> entry;
      EntryId parent;
      std::string name;
    };
    std::vector<Item> entries;
  };
  std::unique_ptr<Restored> restoring;
};

}  // namespace weft::storage

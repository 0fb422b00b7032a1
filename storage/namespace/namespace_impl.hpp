// The inside of the namespace: what its parts do together.
//
// Each part has its own state and header: Tree (directories, files, owners), Leases (files being written), NodeTable (workers),
// Copies (copies and verifications under way), DamagedReplicas, RepairQueue, SafeMode, Ids; placement.hpp has pure functions.
// Together, by subject: tree of files in files.cpp, files being written in writes.cpp, workers' reports in nodes.cpp, what to copy
// and erase in replication.cpp, moves from full nodes in balance.cpp, the durable form in records.cpp, questions in questions.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/namespace/chunk_record.hpp"
#include "storage/namespace/copies.hpp"
#include "storage/namespace/damage.hpp"
#include "storage/namespace/ids.hpp"
#include "storage/namespace/leases.hpp"
#include "storage/namespace/namespace.hpp"
#include "storage/namespace/node_table.hpp"
#include "storage/namespace/repair_queue.hpp"
#include "storage/namespace/safe_mode.hpp"
#include "storage/namespace/tree.hpp"

namespace weft::storage {

inline constexpr std::size_t kMostScanned = 4096;  // chunks looked at per tick

struct Trashed {
  std::unique_ptr<Entry> entry;
  Time due{0};
};

class Namespace::Impl {
 public:
  explicit Impl(NamespaceOptions given)
      : options(given), tree(ids), leases(ids, given.lease), copies(nodes), safe_mode(given.safe_fraction, given.lost_grace) {}

  /// Moves the clock.
  void at(Time now);
  /// By the calendar, as far as restored() has set it.
  std::int64_t clock_ms() const;

  // files.cpp
  void trash(std::unique_ptr<Entry> entry);
  /// How long an entry that was removed before a restart is yet to be kept.
  Time reclaim_wait(const Entry& entry) const;
  void reclaim();

  // writes.cpp
  bool may_get_more_nodes() const;
  void drop_pending(OpenFile& file);
  /// Of a lease on a directory: the one that goes with it. Null when it is of a file, and when that directory has another name or
  /// owner by now or is gone, whatever has its name.
  Entry* directory_of(const OpenFile& file) const;
  void drop(OpenFile& file);
  void expire_leases();

  // nodes.cpp
  void node_lost(NodeId id);
  /// `checked`: it was compared with its digest just now, when it was written.
  void add_replica(Node& node, const ChunkInfo& info, bool checked);
  /// A replica that was just written, and is one too many: nobody ordered it.
  bool is_unwanted(const Node& there, const ChunkInfo& info) const;
  void remove_replica(Node& node, ChunkId id);
  void found_corrupt(Node& node, Chunk& chunk, bool foreign);
  void lose_silent_nodes();
  void update_safe_mode();
  void leave_safe_mode();

  // replication.cpp
  /// Puts the chunk into the list it belongs in. Called whenever something about it has changed.
  void reconsider(Chunk& chunk);
  void reconsider(ChunkId chunk);
  void enqueue(Chunk& chunk);
  void count_located(Chunk& chunk);
  void settle_damage(Chunk& chunk);
  void verify();
  void unblock();
  void forget(ChunkId id);
  const Node* idle_source(const Chunk& chunk) const;
  bool start_copy(const Chunk& chunk, NodeId from, NodeId to, bool moves);
  void replicate();
  bool replicate(Chunk& chunk);
  std::vector<NodeId> choose(const Chunk& chunk, const std::vector<NodeId>& excluded) const;
  void remove_surplus();
  void drop_surplus(Chunk& chunk);
  void flush_erasures();
  std::uint32_t wanted(const Chunk& chunk) const;
  std::uint32_t good(const Chunk& chunk) const;     // replicas that don't have to move
  std::uint32_t staying(const Chunk& chunk) const;  // replicas on nodes that stay
  std::uint64_t only_damaged(const Node& node, bool comes_back) const;
  std::uint64_t to_move(const Node& node) const;
  std::uint64_t to_hand_over(const Node& node) const;

  // balance.cpp
  class Balance;
  void balance();

  // records.cpp
  Result<void> restore_entry(std::string_view key, std::string_view value);
  Result<void> restore_open_file(std::string_view key, std::string_view value);
  Result<void> restore_chunk(std::string_view key, const ChunkInfo& info, Entry* entry, LeaseId lease);
  Result<void> link_restored();
  void find_leased_directories();

  // questions.cpp
  FileChunks chunks_of(const Entry& entry, std::string path, std::uint64_t from, std::uint64_t to) const;

  NamespaceOptions options;
  Time clock{0};         // advances by longest_step at most per call
  Time last_now{0};      // as the caller gave it
  Time calendar_set{0};  // the moment, as the caller gave it, of
  std::int64_t calendar_ms = 0;

  Ids ids;
  Tree tree;
  std::map<EntryId, Trashed> trashed;
  Leases leases;
  NodeTable nodes;
  std::unordered_map<ChunkId, Chunk> chunks;
  RepairQueue queue;
  DamagedReplicas damaged;
  Copies copies;
  SafeMode safe_mode;
  std::map<Time, std::vector<ChunkId>> later;  // chunks of lost nodes
  std::optional<Time> last_loss;               // of a node
  std::uint64_t sealed_chunks = 0, located_chunks = 0;
  std::optional<double> balancing;
  std::vector<StorageCommand> commands;

  struct RestoredEntry {
    std::unique_ptr<Entry> entry;
    EntryId parent;
    std::string name;
  };
  bool restoring = false;
  std::vector<RestoredEntry> restored_entries;
};

}  // namespace weft::storage

// The namespace: directories and files, their chunks, where the replicas of these are, and what has to be repaired. A deterministic
// state machine: time is an argument, chance is seeded, and there is no I/O.
//
// What must survive a restart comes out of take_changes(); where replicas lie is known from the workers' reports only. Its
// driver makes the changes durable before it answers a client or carries out take_commands().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

/// One thread. Calls in any order are applied, or refused with a reason that names the path; a refusal changes nothing. Paths are
/// as from parse_path(), and checked. Time that goes back counts as none passing.
class Namespace {
 public:
  explicit Namespace(NamespaceOptions options = {});
  Namespace(Namespace&&) noexcept;
  Namespace& operator=(Namespace&&) noexcept;
  ~Namespace();

  // ---- restart: restore() for each record in any order, then restored(); before anything else

  /// One Change that was made durable. corrupt names the key.
  Result<void> restore(std::string_view key, std::string_view value);
  /// `clock_ms`: the same moment of the calendar, by which deletions of before the restart are reclaimed in time. Leases
  /// go on (LeaseTimes). Safe mode begins when there are chunks. corrupt when the records don't fit.
  Result<void> restored(Time now, std::int64_t clock_ms);
  /// The first id that no node has had: ids are never reused, not even over restarts.
  NodeId next_node() const;

  // ---- what clients ask for

  /// With `parents`, what exists already is fine, and missing parents are made.
  Result<void> make_directory(std::string_view path, std::string_view user, bool parents, std::int64_t clock_ms);
  /// Begins a file. It appears when it is complete; until then nobody sees it.
  Result<LeaseId> create(std::string_view path, std::string_view user, const CreateOptions& options, Time now);
  /// A new chunk for the file and where it is to be written: `writer` is the writer's host, or the name of the worker there. The
  /// `excluded` nodes just failed. resource_exhausted when no node has room, unavailable when there may be others later. An earlier
  /// chunk that was not sealed is given up. Nodes need room for `bytes`, what the writer expects of the chunk (0: it does not know,
  /// and little is asked for); it may become longer, up to its file's chunk size, where the node has room then. `id`: of the chunk,
  /// a number that nobody can guess, because workers give a chunk to whoever knows its id; 0: the next one.
  Result<Allocation> allocate(LeaseId lease, std::string_view writer, const std::vector<NodeId>& excluded, Time now,
                              std::uint64_t bytes = 0, ChunkId id = {});
  /// The chunk allocated last is durable on these nodes and is now the end of the file. Repeating it is fine.
  Result<void> seal(LeaseId lease, const ChunkInfo& chunk, const std::vector<NodeId>& durable, Time now);
  /// The file becomes visible. Repeating it is fine.
  Result<void> complete(LeaseId lease, std::int64_t clock_ms, Time now);
  /// Makes a directory that goes, with all below it, when its lease is abandoned or runs out: work directories of jobs. One that
  /// was renamed, or given to another user, by then stays, and so does another directory that has its name by then. Nothing is
  /// written under that lease. With `take_over`, for jobs that go on with another driver, the lease lasts an hour at least, and the
  /// directory may be there with such a lease of this user, which is over then.
  Result<LeaseId> lease_directory(std::string_view path, std::string_view user, std::int64_t clock_ms, Time now,
                                  bool take_over = false);
  Result<void> abandon(LeaseId lease);
  /// The path of the directory that would go if the lease were abandoned now. Empty: none would.
  std::string directory_of(LeaseId lease) const;
  Result<void> renew(LeaseId lease, Time now);
  /// How long a lease lasts that nobody renews.
  Time lease_length() const;
  /// Gone at once; its chunks are reclaimed later. not_found when `id` is not 0 and something else is there.
  Result<void> remove(std::string_view path, bool recursive, Time now, EntryId id = {});
  /// `to` must not exist; with `replace` an existing file (of a file) or directory (of a directory) is removed in the same step.
  Result<void> rename(std::string_view from, std::string_view to, bool replace, Time now);
  /// Of a file, or of all files below a directory.
  Result<void> set_replication(std::string_view path, std::uint32_t replication);
  Result<void> set_quota(std::string_view user, const Quota& quota);

  /// Also of all below it. Modes are checked by their digits only; rights are asked for before (below).
  Result<void> set_mode(std::string_view path, std::uint32_t mode, bool recursive);
  /// Their bytes count for that user then; a quota of bytes may be exceeded by it.
  Result<void> set_owner(std::string_view path, std::string_view user, bool recursive);

  // ---- rights: asked before the operations, which know of none. permission_denied names user, path, owner and mode. What does not
  // exist is refused to nobody: the operation says so.

  /// The directories above may be searched.
  Result<void> may_reach(const Actor& actor, std::string_view path) const;
  /// The contents of a file, or the names in a directory.
  Result<void> may_read(const Actor& actor, std::string_view path) const;
  /// A file or directory that does not exist.
  Result<void> may_make(const Actor& actor, std::string_view path) const;
  /// A file, which may exist.
  Result<void> may_replace(const Actor& actor, std::string_view path) const;
  /// With all below it.
  Result<void> may_remove(const Actor& actor, std::string_view path) const;
  Result<void> may_rename(const Actor& actor, std::string_view from, std::string_view to) const;
  /// A file, or all files below a directory.
  Result<void> may_write(const Actor& actor, std::string_view path) const;
  /// It is his; with `recursive` so is all below it.
  Result<void> may_own(const Actor& actor, std::string_view path, bool recursive) const;
  /// He has begun what is written under the lease.
  Result<void> may_use(const Actor& actor, LeaseId lease) const;
  /// The same, and that he may make or replace the file now: others may have made it, or its directory, since he began.
  Result<void> may_complete(const Actor& actor, LeaseId lease) const;
  bool reads(const Actor& actor, std::string_view path) const;

  Result<FileStatus> stat(std::string_view path) const;
  /// At most `limit` entries after the name `after`, in order of names. A file lists as itself.
  Result<std::vector<FileStatus>> list(std::string_view path, std::string_view after, std::size_t limit) const;
  /// The file with those of its chunks that overlap [offset, offset + length).
  Result<FileChunks> locate(std::string_view path, std::uint64_t offset, std::uint64_t length) const;
  Result<Usage> usage(std::string_view path) const;
  /// Visits files in order of their paths, `after` excluded, until `visit` says false.
  Result<void> check(std::string_view path, std::string_view after, const std::function<bool(const FileChunks&)>& visit) const;
  std::vector<UserStatus> users() const;
  StorageReport report() const;
  /// Null when it is not there (any more).
  const StorageNode* node(NodeId id) const;

  // ---- what workers report

  /// A worker with a chunk store. Another node of the same name is then lost.
  Result<void> node_joined(NodeId id, StorageNode node, Space space, Time now);
  void node_lost(NodeId id, Time now);
  /// The worker is about to end. Nothing new is written there. `returns`: with its chunks, so that one replica of each on another
  /// node is enough until then; otherwise all are copied, as far as there is room. Forgotten when the node is lost. not_found when
  /// it keeps no chunks.
  Result<void> node_leaves(NodeId id, bool returns);
  /// Chunks for which a node that leaves should stay a little longer; 1 at least before it has reported all that it has.
  std::uint64_t to_hand_over(NodeId id) const;
  Result<void> heartbeat(NodeId id, Space space, Time now);
  /// All chunks of the node, in pieces: `first` begins, `last` ends. The node has only the chunks that it names.
  Result<void> block_report(NodeId id, const std::vector<ChunkInfo>& chunks, bool first, bool last);
  /// What happened to some chunks there; of events other than `sealed`, only the id counts.
  /// - corrupt: the node keeps its damaged replicas until as many others as wanted were verified: what is only believed to be whole
  ///   replaces nothing.
  /// - verified, erased: as commanded. Until a node says that a chunk is erased, it does not count there, whatever else is reported
  ///   of it, and is not copied there.
  Result<void> chunks_changed(NodeId id, ChunkEvent event, const std::vector<ChunkInfo>& chunks);
  /// A copy that was ordered did not succeed. (One that did is a sealed chunk of its target.)
  Result<void> copy_failed(NodeId from, ChunkId chunk, NodeId to, Time now);

  // ---- what operators ask for

  /// Nothing new is written to the worker of this name, and what it has is copied to others. Kept over restarts.
  Result<void> drain(std::string_view node, bool on);
  /// The names of the workers that are being drained.
  std::vector<std::string> draining() const;
  /// Chunks move until the nodes' use differs by no more than `threshold` (a share of their space) from the average.
  Result<void> balance(double threshold);
  void leave_safe_mode();
  /// Whether too few chunks have a replica since the restart: then nothing is copied or erased.
  bool safe_mode() const;

  // ---- time, commands and changes

  /// Copies, removals, reclamation, expired leases, silent workers. To be called several times a second, and after reports.
  void tick(Time now);
  /// In order. None come in safe mode.
  std::vector<StorageCommand> take_commands();
  std::vector<Change> take_changes();

 private:
  class Impl;
  friend std::string describe(const Namespace& ns);  // tests/storage/namespace/describe.cpp
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::storage

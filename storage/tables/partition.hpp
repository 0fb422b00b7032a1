// One partition of a table, on one of its workers: keys and values in RocksDB, with every version that a live snapshot can see.
//
// Everything that changes is a numbered entry of the partition's log: writes, rows set aside for a transaction and their commit,
// snapshots. Replicas that apply the same entries are equal; a snapshot is a version that is kept, and reads at a snapshot take
// the same path as any other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/tables/types.hpp"

namespace weft::storage::tables {

/// The version that is read when no snapshot is named.
inline constexpr std::uint64_t kNewest = UINT64_MAX;

/// All that a partition holds, as it was when this was made. One thread.
class PartitionPages {
 public:
  using Page = std::vector<std::pair<std::string, std::string>>;
  virtual ~PartitionPages() = default;
  /// The next records, about `bytes` of them; none at the end.
  virtual Result<Page> next(std::size_t bytes) = 0;
};

enum class OpenMode : bool {
  existing,  // not_found when there is no database
  create,    // makes what is missing
};

/// Any thread. Calls block on the disk. Errors of the database are Code::io (resource_exhausted: its disk is full), of its content
/// Code::corrupt, and name the directory.
class TablePartition {
 public:
  /// already_exists: in use by another process; version_mismatch: of another version of weft. A partition whose disk is full is
  /// opened for reading: see refusal().
  static Result<std::unique_ptr<TablePartition>> open(const std::filesystem::path& path, OpenMode mode = OpenMode::create);
  virtual ~TablePartition() = default;

  /// The newest version; 0 when nothing was ever written.
  virtual std::uint64_t last() const = 0;
  /// The epoch of the entry `version`; nothing when there is none such.
  virtual std::optional<std::uint64_t> epoch_at(std::uint64_t version) const = 0;
  /// Applies the entry as version last() + 1, durably, all or none; of several writes of a key the last counts. An entry that was
  /// applied before is skipped, so that a replica may receive it twice. invalid_argument: an entry before it is missing, an entry
  /// of another epoch has its number, or it is malformed.
  virtual Result<void> apply(const LogEntry& entry) = 0;
  /// Why no entry is taken, in one line (resource_exhausted: its disk is full); nothing when entries are. Does not block.
  virtual std::optional<Error> refusal() const { return std::nullopt; }
  /// Takes entries from now on, if a disk that was full has room again. Not after an apply() that failed: only
  /// another open() shows what the disk has of that entry. resource_exhausted: there is no room yet.
  virtual Result<void> recover() { return {}; }
  /// Reads of kNewest see the entries up to `version`; what only earlier readers would see goes. On a primary they are on all
  /// replicas. At first: last().
  virtual void set_committed(std::uint64_t version) = 0;

  /// Entries after `version`, in order, as many as fit `most_bytes`, and at least one if there is any: for replicas that fell
  /// behind. not_found: the log does not go back so far.
  virtual Result<std::vector<LogEntry>> log_after(std::uint64_t version, std::uint64_t most_bytes) const = 0;
  /// Forgets the entries up to `version`; the keys stay.
  virtual Result<void> trim_log(std::uint64_t version) = 0;
  /// Everything, for a new replica: see PartitionCopy.
  virtual std::unique_ptr<PartitionPages> pages() const = 0;
  /// While the result is held, entries after last() stay in the log.
  virtual std::shared_ptr<void> pin_log() = 0;

  /// As of version `at`, which is kNewest, last() or that of a live snapshot (older ones may be gone).
  virtual Result<std::optional<std::string>> get(const std::string& key, std::uint64_t at) const = 0;
  /// Rows with from <= key, and key < to unless `to` is empty, in order of their bytes; at most `limit`, and not many more bytes
  /// than `most_bytes`. `more`, unless null, becomes whether there are others.
  virtual Result<std::vector<TableRow>> scan(const std::string& from, const std::string& to, std::size_t limit, std::uint64_t at,
                                             std::size_t most_bytes = SIZE_MAX, bool* more = nullptr) const = 0;

  /// The live snapshots and their versions.
  virtual std::map<SnapshotId, std::uint64_t> snapshots() const = 0;
  /// Transactions with rows set aside.
  virtual std::set<TransactionId> staged() const = 0;
  /// About what their rows take, of all attempts. A commit writes up to as much again.
  virtual std::uint64_t staged_bytes() const = 0;
  /// Whether the transaction was committed here. Only the last one may be asked for.
  virtual bool committed(TransactionId id) const = 0;
  /// Whether an entry carried out that request of a client, as far as is known: of the last 65,536 requests, and before
  /// recall_requests() only of those that came since this was opened.
  virtual bool carried_out(std::uint64_t request) const = 0;
  /// Looks for requests in the log as it was when this was opened. The first time it reads all of that.
  virtual Result<void> recall_requests() = 0;
  /// Whether recall_requests() has done it. Does not block.
  virtual bool recalled_requests() const = 0;

  /// Bytes on the disk and in memory, about.
  virtual std::uint64_t bytes() const = 0;
  /// Drops at once the versions that no reader can see any more; otherwise RocksDB drops them over time.
  virtual Result<void> compact() = 0;
  /// Versions of keys that are stored, deletions included. Reads everything: for tests and fsck.
  virtual Result<std::uint64_t> stored_versions() const = 0;
};

/// Makes a partition of the pages of another one. The directory must not exist; it can be opened after finish().
class PartitionCopy {
 public:
  static Result<std::unique_ptr<PartitionCopy>> create(const std::filesystem::path& path);
  virtual ~PartitionCopy() = default;
  virtual Result<void> add(const PartitionPages::Page& page) = 0;
  /// Durable.
  virtual Result<void> finish() = 0;
};

}  // namespace weft::storage::tables

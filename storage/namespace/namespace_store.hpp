// The namespace's records in RocksDB. Format: docs/formats/namespace.md. This header knows nothing of RocksDB.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "storage/namespace/namespace.hpp"

namespace weft::storage {

/// Everything that a store has written, as it was at one moment, also what load() does not give. One thread at a time; outlives the
/// store.
class NamespaceRecords {
 public:
  virtual ~NamespaceRecords() = default;
  /// The next records, of about that many bytes together; none at the end.
  virtual Result<std::vector<Change>> next(std::size_t bytes) = 0;
};

class NamespaceStore {
 public:
  /// Creates the directory, or continues one. One line says what is wrong: version_mismatch when it is of another version or no
  /// namespace at all, corrupt when RocksDB finds damage, already_exists when another process has it open. One that exists is
  /// opened though its disk is full.
  static Result<std::unique_ptr<NamespaceStore>> open(const std::string& directory);
  virtual ~NamespaceStore() = default;  // commits what was given before

  /// Given when the directory was created; the data directories of workers carry it.
  virtual const std::string& cluster_id() const = 0;
  /// Whether journal_note() was in the store when it was opened.
  virtual bool has_journal() const = 0;
  /// A change that notes that a journal keeps the jobs of the cluster: a master that finds this store and no journal has lost it.
  static Change journal_note();
  /// All records, into a fresh namespace that is then restored(), at these times.
  virtual Result<void> load(Namespace& into, Time now, std::int64_t clock_ms) = 0;
  /// The records of tables, which the catalogue keeps here as well: their keys begin with 't'.
  using Visit = std::function<Result<void>(std::string_view key, std::string_view value)>;
  virtual Result<void> load_tables(const Visit& visit) = 0;
  /// Writes the changes in one step, in the order of the calls, and calls `done` from a thread of the store's when they are on
  /// disk. Calls that come while one is written go together into the next. While the disk is full they wait until it is not: see
  /// full(). After any other failure every later one fails. Any thread.
  virtual void commit(std::vector<Change> changes, std::function<void(Result<void>)> done) = 0;
  /// Of this moment. Committed to a fresh store, they make it a copy of this one. Any thread.
  virtual std::unique_ptr<NamespaceRecords> records() const = 0;
  /// The disk is full, in one line that names the directory and says what to do. Begins when a commit finds it full, or when the
  /// store was opened so, and ends by itself when there is room. Any thread.
  virtual std::optional<Error> full() const = 0;
};

}  // namespace weft::storage

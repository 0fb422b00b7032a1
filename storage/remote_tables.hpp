// Tables of the cluster as jobs see them, without saying how. storage/files has the real ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "storage/split.hpp"

namespace weft::storage {

/// Whether an input or output of a job is a table: "table://NAME", in splits "table://NAME@SNAPSHOT" with a partition as the
/// offset.
inline constexpr std::string_view kTableScheme = "table://";
inline bool is_table(std::string_view path) { return path.starts_with(kTableScheme); }

/// Rows in order of their keys. One thread.
class RemoteRows {
 public:
  virtual ~RemoteRows() = default;
  /// False at the end. The views are valid until the next call.
  virtual Result<bool> next(std::string_view& key, std::string_view& value) = 0;
};

using RemoteRow = std::pair<std::string, std::string>;

/// Any thread; calls block. Errors name the table. Outlives the rows it gave.
class RemoteTables {
 public:
  virtual ~RemoteTables() = default;
  /// "table://NAME@SNAPSHOT" of a snapshot with this name, or of one that is made and kept as long as this object.
  virtual Result<std::string> resolve(const std::string& table, const std::string& snapshot) = 0;
  /// One split for each partition, with the hosts that have it.
  virtual Result<std::vector<SplitGroup>> splits(const std::string& resolved) = 0;
  virtual Result<std::unique_ptr<RemoteRows>> rows(const Split& split) = 0;

  /// Rows that will become visible together.
  virtual Result<std::uint64_t> begin(const std::string& table) = 0;
  /// Goes on with a transaction, or with a snapshot that resolve() made, of a process that has ended: from now on it is kept as
  /// long as this object. Whether it is still there, commit() and rows() say.
  virtual Result<void> keep(const std::string& table, std::uint64_t id) = 0;
  virtual Result<void> stage(const std::string& table, std::uint64_t id, std::uint64_t token, std::vector<RemoteRow> rows) = 0;
  /// Those that were staged under the tokens, and no others.
  virtual Result<void> commit(const std::string& table, std::uint64_t id, std::vector<std::uint64_t> tokens) = 0;
  /// already_exists: its commit is decided, or done.
  virtual Result<void> abort(const std::string& table, std::uint64_t id) = 0;
};

/// What the files of a cluster (RemoteFiles) also are when the same cluster keeps tables.
class TablesBesideFiles {
 public:
  virtual ~TablesBesideFiles() = default;
  virtual RemoteTables* tables() = 0;
};
/// Null when these files know no tables.
inline RemoteTables* tables_beside(RemoteFiles* files) {
  auto* const both = dynamic_cast<TablesBesideFiles*>(files);
  return both == nullptr ? nullptr : both->tables();
}

}  // namespace weft::storage

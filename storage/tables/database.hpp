// A RocksDB database that holds a partition, and its errors as weft's. Private to storage/tables.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <rocksdb/compaction_filter.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "base/result.hpp"
#include "storage/tables/partition.hpp"

namespace weft::storage::tables {

inline constexpr const char* kLastKey = "mlast";

/// Any thread. Errors name the directory.
class Database {
 public:
  using Iterator = std::unique_ptr<rocksdb::Iterator>;
  enum class Sync { no, later, yes };  // later: with the next that is

  /// Compactions don't run before start_compactions().
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path,
                                                std::shared_ptr<rocksdb::CompactionFilterFactory> filter, OpenMode mode);
  Result<void> start_compactions();

  const std::string& path() const { return path_; }
  Iterator iterate() const { return Iterator(db_->NewIterator({})); }
  Result<std::optional<std::string>> get(const std::string& key) const;
  Result<void> write(rocksdb::WriteBatch& batch, Sync sync = Sync::yes);
  Result<void> flush();
  Result<void> compact();
  std::uint64_t bytes() const;

  Error failed(const char* what, const rocksdb::Status& status) const;
  Error damaged(const char* what) const;
  Result<void> read_well(const rocksdb::Iterator& at) const;

 private:
  Database(std::string path, std::unique_ptr<rocksdb::DB> db) : path_(std::move(path)), db_(std::move(db)) {}
  Result<void> check_format(OpenMode mode);

  const std::string path_;
  const std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace weft::storage::tables

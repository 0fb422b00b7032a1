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
#include "storage/rocks.hpp"
#include "storage/tables/partition.hpp"

namespace weft::storage::tables {

inline constexpr const char* kLastKey = "mlast";

/// Any thread. Errors name the directory.
class Database {
 public:
  /// Destroyed before its database.
  struct HoldsDatabase {
    std::shared_ptr<rocksdb::DB> db;
    void operator()(rocksdb::Iterator* at) const { delete at; }
  };
  using Iterator = std::unique_ptr<rocksdb::Iterator, HoldsDatabase>;
  enum class Sync { no, later, yes };  // later: with the next synced write

  /// Compactions don't run before start_compactions().
  static Result<std::unique_ptr<Database>> open(const std::filesystem::path& path,
                                                std::shared_ptr<rocksdb::CompactionFilterFactory> filter, OpenMode mode);
  Result<void> start_compactions();
  /// Why it takes no writes; nothing when it does. A database whose disk is full is opened for reading.
  std::optional<Error> refusal() const;
  /// After it was opened for reading: takes writes from now on, if its disk has room. Blocks on the disk.
  Result<void> reopen();

  const std::string& path() const { return path_; }
  Iterator iterate() const;
  Result<std::optional<std::string>> get(const std::string& key) const;
  Result<void> write(rocksdb::WriteBatch& batch, Sync sync = Sync::yes);
  Result<void> flush();
  Result<void> compact();
  std::uint64_t bytes() const;

  Error failed(const char* what, const rocksdb::Status& status) const;
  Error damaged(const char* what) const;
  Result<void> read_well(const rocksdb::Iterator& at) const;

 private:
  Database(std::string path, std::unique_ptr<RocksStore> store) : path_(std::move(path)), store_(std::move(store)) {}
  Result<void> check_format(OpenMode mode);

  const std::string path_;
  const std::unique_ptr<RocksStore> store_;
};

}  // namespace weft::storage::tables

// What all databases of a cluster have in common (chunks, namespace, tables, profiles): how they are opened, and what happens
// when their disk refuses. RocksDB is opened here and nowhere else (scripts/check-layers). For .cpp files that use RocksDB.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "base/result.hpp"

namespace weft::storage {

/// already_exists: another process has the database open. resource_exhausted: its disk is full. corrupt: it is damaged, or its disk
/// does not give it. io: anything else; that is no damage (too many open files, no permission).
Code code_of(const rocksdb::Status& status);
/// The status in one line, with what to do where the disk is full (that comes first), a file is missing, or one is damaged.
std::string words_of(const rocksdb::Status& status);

/// A RocksDB database. When its disk refuses a write it takes no more of them and is read as before; the process goes on,
/// although RocksDB would end it (storage/rocks_files.hpp). What was acknowledged before is on the disk. Any thread.
class RocksStore {
 public:
  /// Opens the database in the directory, or makes one where the options say so; their env and info_log are set here. A database
  /// whose disk is full is opened for reading: then writable() says so. Status::Busy: this or another process has it open.
  static rocksdb::Status open(rocksdb::Options options, const std::string& path, std::unique_ptr<RocksStore>& opened);
  ~RocksStore();
  RocksStore(const RocksStore&) = delete;
  RocksStore& operator=(const RocksStore&) = delete;

  /// To read from; iterators need it for as long as they live. After a failure it may show what was refused.
  std::shared_ptr<rocksdb::DB> db() const;
  /// OK, or why it takes no writes: the first error of its disk.
  rocksdb::Status writable() const;

  /// Each is done, durably where the options say so, when it returns OK. After an error of the disk it may be done or not, which
  /// only reopen() tells, and every later call fails with the same error.
  rocksdb::Status write(const rocksdb::WriteOptions& options, rocksdb::WriteBatch& batch);
  rocksdb::Status flush();
  rocksdb::Status compact(const rocksdb::CompactRangeOptions& options);

  /// Begins again with what is on the disk, if its disk has room. When it fails all stays as it is. Not so soon after the last try
  /// it fails at once. db() is another object afterwards. A store that takes writes is left alone.
  rocksdb::Status reopen();

 private:
  struct Opening;  // one opened database and its files
  RocksStore(rocksdb::Options options, std::string path) : options_(std::move(options)), path_(std::move(path)) {}
  rocksdb::Status lock();
  rocksdb::Status open_to_write(std::shared_ptr<Opening>& opened) const;
  rocksdb::Status open_to_read(const rocksdb::Status& why, std::shared_ptr<Opening>& opened) const;
  std::shared_ptr<Opening> current() const;
  template <class Do>
  rocksdb::Status change(Do&& change);
  bool has_room() const;

  const rocksdb::Options options_;
  const std::string path_;
  rocksdb::FileLock* lock_ = nullptr;
  std::mutex reopening_;  // held across the disk
  std::chrono::steady_clock::time_point next_try_;
  mutable std::mutex mutex_;
  std::shared_ptr<Opening> opening_;
};

/// Options that all databases share.
rocksdb::Options store_options();

}  // namespace weft::storage

// The files of one open RocksDB database, between it and the disk. For storage/rocks.cpp.
//
// RocksDB does not survive a disk that refuses: builds with assertions, such as Debian's, abort when a log, a manifest or the log
// of messages could not be written, at once or when the database is closed. So RocksDB never sees such an error here. At the first
// refusal the files are *fenced*: from then on nothing changes on the disk, and RocksDB is answered that all went well. What is on
// the disk is then what a process that is killed at that moment leaves, which RocksDB knows how to recover. The caller looks at
// failure() when RocksDB is done, and believes nothing that comes after it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace weft::storage {

/// Any thread. Reads go to the disk, fenced or not, and their errors to RocksDB.
class FencedFiles final : public rocksdb::FileSystemWrapper {
 public:
  /// `log` is what RocksDB writes its messages to, whatever it asks for.
  FencedFiles(const std::shared_ptr<rocksdb::FileSystem>& target, std::shared_ptr<rocksdb::Logger> log);
  const char* Name() const override { return "weft"; }

  /// OK until the disk refuses to write, sync, create or rename; then the first reason. A quota that is used up is a full disk.
  rocksdb::IOStatus failure() const;
  /// Passes the disk's answer on unless it is a refusal: that fences the files.
  rocksdb::IOStatus judge(const rocksdb::IOStatus& done);
  bool fenced() const { return fenced_.load(); }
  /// Removes the files that were made here, unless a manifest of them has come into force: those of an opening that failed.
  void remove_made();

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(const std::string& path, std::size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDir(const std::string& path, const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteDir(const std::string& path, const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  /// RocksStore has the lock, from before the first opening until after the last.
  rocksdb::IOStatus LockFile(const std::string& path, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options, std::shared_ptr<rocksdb::Logger>* log,
                              rocksdb::IODebugContext* debug) override;

 private:
  template <class Change>
  rocksdb::IOStatus unless_fenced(Change&& change);
  template <class Open>
  rocksdb::IOStatus open(const std::string& path, std::unique_ptr<rocksdb::FSWritableFile>* file, Open&& open);

  const std::shared_ptr<rocksdb::Logger> log_;
  std::atomic<bool> fenced_ = false;
  mutable std::mutex mutex_;  // of what follows
  rocksdb::IOStatus failure_;
  std::set<std::string> made_;
  bool in_force_ = false;  // the file CURRENT was replaced
};

}  // namespace weft::storage

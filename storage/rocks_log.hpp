// What RocksDB says of itself, in the file LOG of a database's directory. For storage/rocks.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <rocksdb/env.h>

#include "base/fd.hpp"

namespace weft::storage {

/// Writes warnings and errors. The file is made for the first line; when it has a mebibyte it becomes LOG.old, in the place of the
/// one before. Lines that cannot be written are dropped, and the next line says how many. Nothing here ever fails. Any
/// thread.
class RocksLog final : public rocksdb::Logger {
 public:
  static constexpr std::uint64_t kMostBytes = 1u << 20;

  /// `directory`: of the database.
  explicit RocksLog(const std::string& directory);

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override;
  void LogHeader(const char* format, va_list arguments) override;  // the options, at each opening: dropped
  std::size_t GetLogFileSize() const override;

 protected:
  rocksdb::Status CloseImpl() override { return rocksdb::Status::OK(); }

 private:
  bool ready();

  const std::string path_;
  mutable std::mutex mutex_;  // of what follows
  Fd file_;                   // invalid: not made, or not to be had
  std::uint64_t size_ = 0, dropped_ = 0;
};

}  // namespace weft::storage

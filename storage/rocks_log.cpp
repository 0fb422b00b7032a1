#include "storage/rocks_log.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::storage {

namespace {

constexpr std::size_t kLongestLine = 2048;

}  // namespace

RocksLog::RocksLog(const std::string& directory) : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(directory + "/LOG") {}

void RocksLog::LogHeader(const char*, va_list) {}

std::size_t RocksLog::GetLogFileSize() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

/// Whether there is a file with room for a line.
bool RocksLog::ready() {
  for (int file = 0; file < 2; ++file) {
    if (!file_.valid()) {
      file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
      struct stat found {};
      size_ = file_.valid() && ::fstat(file_.get(), &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
    }
    if (!file_.valid() || size_ < kMostBytes) return file_.valid();
    file_.reset();
    if (::rename(path_.c_str(), (path_ + ".old").c_str()) != 0) return false;
  }
  return false;
}

void RocksLog::Logv(const char* format, va_list arguments) {
  std::array<char, kLongestLine> text;
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  if (length < 0) return;
  std::string said(text.data(), std::min(static_cast<std::size_t>(length), text.size() - 1));
  std::replace(said.begin(), said.end(), '\n', ' ');
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto milliseconds = now.time_since_epoch().count() % 1000;
  const std::lock_guard lock(mutex_);
  const std::string before = dropped_ == 0 ? std::string() : fmt::format("({} lines could not be written) ", dropped_);
  const std::string line = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {}{}\n", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                                       milliseconds, before, said);
  const ssize_t put = ready() ? ::write(file_.get(), line.data(), line.size()) : -1;
  if (put > 0) size_ += static_cast<std::uint64_t>(put);
  dropped_ = put == static_cast<ssize_t>(line.size()) ? 0 : dropped_ + 1;
}

}  // namespace weft::storage

#include "storage/rocks.hpp"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace weft::storage {

namespace {

/// What a disk does not give is as lost as what it gives wrongly. Errors of writing are no damage.
bool unreadable(const std::string& text) { return text.find("read") != std::string::npos && text.ends_with(std::strerror(EIO)); }

}  // namespace

Code code_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return Code::resource_exhausted;
  if (status.IsCorruption() || status.IsInvalidArgument()) return Code::corrupt;
  if (!status.IsIOError()) return Code::io;
  const std::string text = status.ToString();
  if (text.find("lock") != std::string::npos) return Code::already_exists;
  return unreadable(text) ? Code::corrupt : Code::io;
}

void keep_open(std::unique_ptr<rocksdb::DB> failed) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<rocksdb::DB>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(failed));
}

}  // namespace weft::storage

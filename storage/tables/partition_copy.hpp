// All of a partition's records, page by page, from one database to another. Private to storage/tables.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "storage/tables/database.hpp"
#include "storage/tables/partition.hpp"

namespace weft::storage::tables {

/// The records as of now. The database outlives them.
std::unique_ptr<PartitionPages> make_pages(const Database& db);

/// Versions after which the log is kept. Any thread; outlives the partition while copies are read.
class LogPins {
 public:
  void add(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    versions_.insert(version);
  }
  void remove(std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    versions_.erase(versions_.find(version));
  }
  /// The last entry up to `version` that may be dropped.
  std::uint64_t last_free(std::uint64_t version) const {
    const std::lock_guard lock(mutex_);
    return versions_.empty() ? version : std::min(version, *versions_.begin());
  }

 private:
  mutable std::mutex mutex_;
  std::multiset<std::uint64_t> versions_;
};

}  // namespace weft::storage::tables

// Which versions a compaction may drop. Private to storage/tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include <rocksdb/compaction_filter.h>

namespace weft::storage::tables {

/// The versions that live snapshots keep, and the one that readers without a snapshot see, or would see if this replica became
/// primary. Any thread.
class KeptVersions {
 public:
  void add(std::uint64_t version);
  void remove(std::uint64_t version);
  void set_committed(std::uint64_t version) { committed_.store(version, std::memory_order_release); }
  std::uint64_t committed() const { return committed_.load(std::memory_order_acquire); }
  std::multiset<std::uint64_t> all() const;

 private:
  mutable std::mutex mutex_;
  std::multiset<std::uint64_t> versions_;
  std::atomic<std::uint64_t> committed_{0};
};

/// Drops a version when its key has a newer one and no snapshot lies between the two, and a deletion also when it hides no older
/// version any more.
std::shared_ptr<rocksdb::CompactionFilterFactory> make_version_filter(std::shared_ptr<const KeptVersions> kept);

}  // namespace weft::storage::tables

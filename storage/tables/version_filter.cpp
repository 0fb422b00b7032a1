#include "storage/tables/version_filter.hpp"

#include <string>

#include "storage/tables/versioned_key.hpp"

namespace weft::storage::tables {
namespace {

/// Sees the keys of one compaction in order. The snapshots of its start are enough: one made later keeps a version that is newer
/// than all that is being compacted, so for each key it sees the newest, which stays.
class VersionFilter final : public rocksdb::CompactionFilter {
 public:
  VersionFilter(std::multiset<std::uint64_t> kept, bool everything) : kept_(std::move(kept)), everything_(everything) {}
  const char* Name() const override { return "weft.versions"; }

  bool Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*, bool*) const override {
    const auto data = parse_data_key({key.data(), key.size()});
    if (!data) return false;
    const bool same_key = data->prefix == prefix_;
    const std::uint64_t newer = newer_;
    newer_ = data->version;
    if (!same_key) prefix_ = data->prefix;
    // Somebody sees this one and not the newer one.
    const auto witness = kept_.lower_bound(data->version);
    if (same_key) return witness == kept_.end() || *witness >= newer;
    const bool deletion = value.size() == 1 && value[0] == '\0';
    return deletion && everything_ && (kept_.empty() || *kept_.begin() >= data->version);
  }

 private:
  const std::multiset<std::uint64_t> kept_;
  const bool everything_;            // no other file holds older versions
  mutable std::string prefix_;       // of the key before
  mutable std::uint64_t newer_ = 0;  // its version
};

class Factory final : public rocksdb::CompactionFilterFactory {
 public:
  explicit Factory(std::shared_ptr<const KeptVersions> kept) : kept_(std::move(kept)) {}
  const char* Name() const override { return "weft.versions"; }
  std::unique_ptr<rocksdb::CompactionFilter> CreateCompactionFilter(const rocksdb::CompactionFilter::Context& context) override {
    return std::make_unique<VersionFilter>(kept_->all(), context.is_full_compaction);
  }

 private:
  const std::shared_ptr<const KeptVersions> kept_;
};

}  // namespace

void KeptVersions::add(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  versions_.insert(version);
}

void KeptVersions::remove(std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (const auto one = versions_.find(version); one != versions_.end()) versions_.erase(one);
}

std::multiset<std::uint64_t> KeptVersions::all() const {
  const std::lock_guard lock(mutex_);
  std::multiset<std::uint64_t> all = versions_;
  all.insert(committed());
  return all;
}

std::shared_ptr<rocksdb::CompactionFilterFactory> make_version_filter(std::shared_ptr<const KeptVersions> kept) {
  return std::make_shared<Factory>(std::move(kept));
}

}  // namespace weft::storage::tables

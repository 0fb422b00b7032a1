#include "runtime/executor/segment_cache.hpp"

#include <utility>

namespace weft::runtime {

SegmentCache::SegmentPtr SegmentCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  by_age_.splice(by_age_.end(), by_age_, found->second.age);
  return found->second.segment;
}

void SegmentCache::keep(const Key& key, SegmentPtr segment) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = segment->size();
  if (size > most_bytes_ || entries_.contains(key)) return;
  while (!entries_.empty() && (entries_.size() >= most_segments_ || bytes_ + size > most_bytes_))
    drop(entries_.find(by_age_.front()));
  bytes_ += size;
  entries_.emplace(key, Entry{std::move(segment), by_age_.insert(by_age_.end(), key)});
}

std::vector<std::pair<SegmentCache::Key, SegmentCache::SegmentPtr>> SegmentCache::from(ShuffleId shuffle, std::uint32_t map,
                                                                                       std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<Key, SegmentPtr>> found;
  for (auto at = entries_.lower_bound(Key{shuffle, map, 0}); at != entries_.end() && at->first.shuffle == shuffle; ++at) {
    if (found.size() == most) break;
    found.emplace_back(at->first, at->second.segment);
  }
  return found;
}

void SegmentCache::forget(ShuffleId shuffle) {
  const std::lock_guard lock(mutex_);
  auto at = entries_.lower_bound(Key{shuffle, 0, 0});
  while (at != entries_.end() && at->first.shuffle == shuffle) drop(at++);
}

void SegmentCache::drop(Entries::iterator entry) {
  bytes_ -= entry->second.segment->size();
  by_age_.erase(entry->second.age);
  entries_.erase(entry);
}

}  // namespace weft::runtime

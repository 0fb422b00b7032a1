// The segments of its worker's store that an executor has mapped, for the next tasks that read them.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::runtime {

/// Bounded by bytes and by number (each is a mapping); the longest unused go first. Tasks keep what they hold. Any
/// thread.
class SegmentCache {
 public:
  struct Key {
    ShuffleId shuffle;
    std::uint32_t map = 0, attempt = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using SegmentPtr = std::shared_ptr<const shuffle::Segment>;

  SegmentCache(std::uint64_t most_bytes, std::size_t most_segments) : most_bytes_(most_bytes), most_segments_(most_segments) {}

  /// Null when it is not kept.
  SegmentPtr find(const Key& key);
  void keep(const Key& key, SegmentPtr segment);
  /// The segments of a shuffle from that map on, at most `most` of them, ascending by map and attempt.
  std::vector<std::pair<Key, SegmentPtr>> from(ShuffleId shuffle, std::uint32_t map, std::size_t most) const;
  /// All segments of a shuffle that was released.
  void forget(ShuffleId shuffle);

 private:
  struct Entry {
    SegmentPtr segment;
    std::list<Key>::iterator age;
  };
  using Entries = std::map<Key, Entry>;
  void drop(Entries::iterator entry);

  const std::uint64_t most_bytes_;
  const std::size_t most_segments_;
  mutable std::mutex mutex_;  // guards what follows
  Entries entries_;
  std::list<Key> by_age_;  // oldest use first
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::runtime

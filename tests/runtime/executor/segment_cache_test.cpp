#include "runtime/executor/segment_cache.hpp"

#include <string>

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kSize = 10'000;  // a little more with header and index

std::shared_ptr<const shuffle::Segment> segment_of(std::size_t bytes) {
  auto writer = shuffle::SegmentWriter::in_memory(1);
  EXPECT_TRUE(writer);
  EXPECT_TRUE((*writer)->append(0, as_bytes(std::string(bytes, 's')), 1));
  auto segment = shuffle::Segment::open(std::move((*writer)->seal()->fd));
  EXPECT_TRUE(segment);
  return *segment;
}

SegmentCache::Key key(std::uint32_t map, std::uint32_t shuffle = 1) { return {ShuffleId(shuffle), map, 0}; }

TEST(SegmentCache, keeps_no_more_bytes_than_it_may_and_drops_what_was_not_used) {
  SegmentCache cache(4 * kSize, 100);
  for (std::uint32_t map = 0; map < 3; ++map) cache.keep(key(map), segment_of(kSize));
  EXPECT_TRUE(cache.find(key(0)));
  cache.keep(key(3), segment_of(kSize));  // with what is beside the records, four are too many
  EXPECT_TRUE(cache.find(key(0)));
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_TRUE(cache.find(key(3)));
  cache.keep(key(4), segment_of(3 * kSize));
  EXPECT_TRUE(cache.find(key(4)));
  EXPECT_FALSE(cache.find(key(0)) && cache.find(key(3)));
  cache.keep(key(5), segment_of(5 * kSize));
  EXPECT_FALSE(cache.find(key(5))) << "larger than all of it";
  EXPECT_TRUE(cache.find(key(4)));
}

TEST(SegmentCache, keeps_no_more_segments_than_it_may) {
  SegmentCache cache(1 << 30, 2);
  for (std::uint32_t map = 0; map < 5; ++map) cache.keep(key(map), segment_of(1));
  EXPECT_FALSE(cache.find(key(2)));
  EXPECT_TRUE(cache.find(key(3)) && cache.find(key(4)));
}

TEST(SegmentCache, forgets_one_shuffle_and_leaves_segments_to_who_holds_them) {
  SegmentCache cache(1 << 30, 100);
  const auto held = segment_of(kSize);
  const std::weak_ptr<const shuffle::Segment> other = [&] {
    auto segment = segment_of(kSize);
    cache.keep(key(1), segment);
    return segment;
  }();
  cache.keep(key(0), held);
  cache.keep(key(0, 2), held);
  cache.forget(ShuffleId(1));
  EXPECT_FALSE(cache.find(key(0)));
  EXPECT_TRUE(other.expired());
  EXPECT_EQ(cache.find(key(0, 2)), held);
  EXPECT_EQ(held->extents(0).size(), 1u);
  cache.forget(ShuffleId(7));
  cache.forget(ShuffleId(2));
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace weft::runtime

#include "shuffle/segment/partition_sizes.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft::shuffle {
namespace {

bool same(const std::vector<PartitionSize>& a, const std::vector<PartitionSize>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PartitionSize& x, const PartitionSize& y) { return x.bytes == y.bytes && x.records == y.records; });
}

TEST(PartitionSizes, ComeBackAsTheyWere) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<PartitionSize> sizes(random.below(300));
    for (PartitionSize& size : sizes) size = {random() >> random.below(64), random() >> random.below(64)};
    const auto back = unpack_sizes(pack(sizes).view());
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().to_string();
    EXPECT_TRUE(same(*back, sizes)) << "seed " << seed;
  }
}

TEST(PartitionSizes, OfAThousandPartitionsTakeAFewKilobytes) {
  const std::vector<PartitionSize> usual(1000, {65'000, 700});
  EXPECT_LE(pack(usual).size(), 5'100u);
  EXPECT_EQ(pack({}).size(), 0u);
}

TEST(PartitionSizes, AreRefusedWhenCutAnywhereOrTooLong) {
  const Encoder whole = pack({{1, 2}, {300, 4}, {5, 70'000}});
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const auto cut = unpack_sizes(whole.view().first(length));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code(), Code::corrupt);
  }
  Encoder longer;
  longer.append(whole.view());
  longer.append_varint(0);
  EXPECT_FALSE(unpack_sizes(longer.view()));
}

TEST(PartitionSizes, BelieveNoCountThatTheBytesCannotHold) {
  Encoder lie;
  lie.append_varint(std::uint64_t{1} << 40);
  lie.append_varint(1);
  EXPECT_FALSE(unpack_sizes(lie.view()));
  Encoder half;  // one byte per partition instead of two
  half.append_varint(6);
  for (int i = 0; i < 8; ++i) half.append_varint(1);
  EXPECT_FALSE(unpack_sizes(half.view()));
}

TEST(PartitionSizes, SurviveAnyBytes) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    Encoder noise;
    for (std::uint64_t i = 0, size = random.below(64); i < size; ++i) noise.append_value(static_cast<std::uint8_t>(random()));
    const auto sizes = unpack_sizes(noise.view());
    EXPECT_TRUE(!sizes || sizes->size() <= noise.size() / 2) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::shuffle

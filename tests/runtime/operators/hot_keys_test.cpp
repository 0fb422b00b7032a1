// Which keys of a map output are reported as those of many records.
#include "runtime/operators/hot_keys.hpp"

#include <string>

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

/// What is reported of `records` records; key_of(i) has the i-th one.
template <class KeyOf>
std::vector<HotKey> found(std::uint64_t records, KeyOf&& key_of) {
  TaskUsage usage;
  {
    HotKeys first(usage);
    HotKeys keys(std::move(first));
    for (std::uint64_t i = 0; i < records; ++i)
      if (keys.due()) keys.note(static_cast<std::uint32_t>(key_of(i).size() % 7), key_of(i));
  }
  return usage.hot_keys;
}

TEST(HotKeys, AreThoseOfManyRecords) {
  const auto keys = found(1'000'000, [](std::uint64_t i) { return i % 10 < 6 ? std::string("the") : std::to_string(i); });
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].text, "the");
  EXPECT_EQ(keys[0].partition, 3u);
  EXPECT_NEAR(static_cast<double>(keys[0].records), 600'000, 90'000) << "one of 509 was looked at, and other keys cost some counts";
}

TEST(HotKeys, ComeWithTheMostRecordsFirst) {
  const auto keys = found(1'000'000, [](std::uint64_t i) { return i % 5 < 3 ? std::string("often") : std::string("rarely"); });
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].text, "often");
  EXPECT_EQ(keys[1].text, "rarely");
}

TEST(HotKeys, AreNotThoseOfLessThanATenth) {
  const auto keys = found(1'000'000, [](std::uint64_t i) { return i % 100 < 7 ? std::string("rare") : std::string("often"); });
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].text, "often");
}

TEST(HotKeys, AreFoundAlthoughOthersCameFirst) {
  const auto keys = found(1'000'000, [](std::uint64_t i) { return i < 200'000 ? std::to_string(i) : std::string("late"); });
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].text, "late");
}

TEST(HotKeys, AreNoneWhereNoKeyHasManyRecords) {
  EXPECT_TRUE(found(1'000'000, [](std::uint64_t i) { return std::to_string(i); }).empty());
  EXPECT_TRUE(found(1'000'000, [](std::uint64_t i) { return std::to_string(i % 100); }).empty()) << "a hundredth each";
  EXPECT_TRUE(found(3000, [](std::uint64_t) { return std::string("one"); }).empty()) << "too few were looked at";
  EXPECT_TRUE(found(0, [](std::uint64_t) { return std::string(); }).empty());
}

TEST(HotKeys, OfLongTextHaveItsBeginning) {
  const auto keys = found(100'000, [](std::uint64_t) { return std::string(1000, 'x'); });
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].text, std::string(HotKeys::kTextBytes, 'x'));
}

}  // namespace
}  // namespace weft::runtime

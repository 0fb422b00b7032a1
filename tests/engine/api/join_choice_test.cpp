#include "engine/api/join_choice.hpp"

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr client::Executors kOne{1, 1600 * kMiB};  // a sixteenth: 100 MiB

StreamedSizes right(std::optional<std::uint64_t> whole, std::optional<std::uint64_t> streamed) {
  return {"right", whole, streamed};
}
StreamedSizes left(std::optional<std::uint64_t> whole, std::optional<std::uint64_t> streamed) { return {"left", whole, streamed}; }

bool streams(const StreamedSizes& way, const client::Executors& executors = kOne) {
  return choose_join({way}, executors).way.has_value();
}

TEST(JoinChoice, ASideIsReadWholeIfItFitsAndTheOtherOneIsMuchLarger) {
  EXPECT_TRUE(streams(right(100 * kMiB, 200 * kMiB)));
  EXPECT_FALSE(streams(right(100 * kMiB + 1, 10'000 * kMiB))) << "more than a sixteenth of the memory";
  EXPECT_FALSE(streams(right(100 * kMiB, 199 * kMiB))) << "less than half as much";
  EXPECT_TRUE(streams(right(20 * kMiB, 80 * kMiB), {2, 1600 * kMiB}));
  EXPECT_FALSE(streams(right(20 * kMiB, 79 * kMiB), {2, 1600 * kMiB})) << "each of two executors would read it";
}

TEST(JoinChoice, OfSidesOfUnknownSizesOnlyALittleOneIsReadWhole) {
  EXPECT_FALSE(streams(right(std::nullopt, 1000 * kMiB)));
  EXPECT_TRUE(streams(right(4 * kMiB, std::nullopt)));
  EXPECT_FALSE(streams(right(4 * kMiB + 1, std::nullopt)));
  EXPECT_TRUE(streams(right(4 * kMiB, 1 * kMiB), {100, 1600 * kMiB})) << "so little that it does not matter";
  EXPECT_FALSE(streams(right(4 * kMiB, 1000 * kMiB), {1, 4 * kMiB})) << "too much for a small memory all the same";
}

TEST(JoinChoice, TablesOfOtherJoinsLeaveLessMemory) {
  EXPECT_EQ(choose_join({right(60 * kMiB, 1000 * kMiB)}, kOne, 40 * kMiB).way, 0u);
  EXPECT_EQ(choose_join({right(60 * kMiB, 1000 * kMiB)}, kOne, 41 * kMiB).way, std::nullopt);
  EXPECT_EQ(choose_join({right(1, 1000 * kMiB)}, kOne, 500 * kMiB).way, std::nullopt);
}

TEST(JoinChoice, TheSmallerSideIsReadWhole) {
  EXPECT_EQ(choose_join({right(90 * kMiB, 3 * kMiB), left(3 * kMiB, 90 * kMiB)}, kOne).way, 1u);
  EXPECT_EQ(choose_join({right(2 * kMiB, 3 * kMiB), left(3 * kMiB, 2 * kMiB)}, kOne).way, 0u);
  EXPECT_EQ(choose_join({right(90 * kMiB, 91 * kMiB), left(91 * kMiB, 90 * kMiB)}, kOne).way, std::nullopt);
}

TEST(JoinChoice, TheReasonNamesTheSideAndItsSize) {
  EXPECT_EQ(choose_join({right(2 * kMiB, 1000 * kMiB)}, kOne).why, "all of the right side in memory, 2.00 MiB of input");
  const std::string why = choose_join({right(std::nullopt, 1), left(200 * kMiB, std::nullopt)}, kOne).why;
  EXPECT_TRUE(why.starts_with("by partitions: the size of the right side is not known; the left side, 200 MiB of input")) << why;
}

}  // namespace
}  // namespace weft::detail

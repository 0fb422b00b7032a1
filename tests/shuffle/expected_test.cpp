#include "shuffle/prefetch/expected.hpp"

#include <gtest/gtest.h>

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kBlockBytes = 64u << 10;

class ExpectedTest : public testing::Test {
 protected:
  /// Partitions in the order of reading, and so many outputs at an address.
  Expected& begin(const std::vector<std::uint32_t>& partitions, std::uint32_t maps) {
    expected_.emplace(options_);
    ExpectedShuffle& shuffle = expected_->shuffles()[kKey];
    for (std::uint32_t rank = 0; rank < partitions.size(); ++rank) shuffle.partitions[partitions[rank]].rank = rank;
    for (std::uint32_t map = 0; map < maps; ++map) shuffle.by_address["a"].push_back({map, 0});
    shuffle.block_bytes = kBlockBytes;
    shuffle.complete = true;
    expected_->list(kKey);
    return *expected_;
  }
  ExpectedPartition& partition(std::uint32_t number) { return *expected_->find(kKey, number); }
  std::size_t wanted(std::uint32_t number) { return expected_->next_fetch(expected_->candidate(kKey, number, "a")).maps; }
  static HeldPtr blocks() { return std::make_shared<const HeldBlocks>(HeldBlocks{{}, {{0, 0}}, {}}); }

  static constexpr Expected::Key kKey{JobId(1), ShuffleId(2)};
  PrefetchOptions options_{.round = 2, .fetch_bytes = 64 * kBlockBytes, .least_bytes = 4 * kBlockBytes};
  std::optional<Expected> expected_;
};

TEST_F(ExpectedTest, EarlierRoundsComeFirstAndWithinARoundTheOrderOfReading) {
  const Expected& expected = begin({9, 4, 7}, 100);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  for (const Candidate& candidate : expected.candidates()) order.emplace_back(candidate.round, candidate.partition);
  EXPECT_EQ(order, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 9}, {0, 4}, {1, 7}}));
}

TEST_F(ExpectedTest, TheFirstFetchOfAPartitionIsSmallAndEachLaterOneAtMostTwiceTheLast) {
  begin({9}, 1000);
  EXPECT_EQ(wanted(9), 4u) << "a sixteenth of what a fetch should hold";
  partition(9).map_bytes = kBlockBytes / 4;
  partition(9).maps = 4;
  EXPECT_EQ(wanted(9), 8u) << "256 would hold as much";
  partition(9).maps = 200;
  EXPECT_EQ(wanted(9), 256u);
  partition(9).map_bytes = 1u << 30;
  EXPECT_EQ(wanted(9), 1u) << "never none";
  partition(9).map_bytes = 1;
  partition(9).maps = 1'000'000;
  partition(9).next["a"] = 998;
  EXPECT_EQ(wanted(9), 2u) << "no more are left";
}

TEST_F(ExpectedTest, LittleIsNotListedUntilAllOutputsAreKnownAndNothingThatIsDeferredOrTaken) {
  Expected& expected = begin({9, 4, 7}, 3);
  EXPECT_EQ(expected.candidates().size(), 3u);
  ExpectedShuffle& shuffle = expected.shuffles().at(kKey);
  for (const std::uint32_t number : {9u, 4u, 7u}) expected.unlist(kKey, number);
  shuffle.complete = false;
  expected.list(kKey);
  EXPECT_TRUE(expected.candidates().empty()) << "three blocks of a wanted four";
  shuffle.by_address["a"].push_back({3, 0});
  shuffle.deferred = {4};
  partition(7).taken = true;
  expected.list(kKey);
  ASSERT_EQ(expected.candidates().size(), 1u);
  EXPECT_EQ(expected.candidates().begin()->partition, 9u);
  expected.pass_over("a");
  EXPECT_TRUE(expected.candidates().empty());
  EXPECT_TRUE(shuffle.by_address.empty());
}

TEST_F(ExpectedTest, TheLastToBeReadOfThoseInMemoryLeavesFirst) {
  const Expected& expected = begin({9, 4, 7}, 10);
  EXPECT_FALSE(expected.last_in_memory());
  partition(9).cache.add(blocks());
  partition(4).cache.add(blocks());
  EXPECT_EQ(expected.last_in_memory()->partition, 4u);
  partition(7).cache.add(blocks());
  EXPECT_EQ(expected.last_in_memory()->partition, 7u);
  partition(7).taken = true;
  EXPECT_EQ(expected.last_in_memory()->partition, 4u) << "a task reads the other one";
  (void)partition(4).cache.leave(1);
  EXPECT_EQ(expected.last_in_memory()->partition, 9u);
}

}  // namespace
}  // namespace weft::shuffle

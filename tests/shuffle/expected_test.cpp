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
    offer("a", maps);
    shuffle.block_bytes = kBlockBytes;
    shuffle.complete = true;
    expected_->list(kKey);
    return *expected_;
  }
  /// So many more outputs at the address; returns its source.
  std::uint32_t offer(const std::string& address, std::uint32_t maps, bool far = false) {
    ExpectedShuffle& shuffle = expected_->shuffles().at(kKey);
    const std::uint32_t source = shuffle.source(address, far);
    for (std::uint32_t map = 0; map < maps; ++map) shuffle.sources[source].maps.push_back({map_++, 0});
    return source;
  }
  /// All that is listed, in the order in which it would be fetched: partitions and addresses.
  std::vector<std::pair<std::uint32_t, std::string>> listed(bool near = false) {
    std::vector<std::pair<std::uint32_t, std::string>> all;
    while (const auto next = expected_->next(near)) {
      all.emplace_back(next->turn.partition,
                       next->source ? expected_->shuffles().at(kKey).sources[*next->source].address : "from its files");
      expected_->erase(*next);
    }
    return all;
  }
  using Listed = std::vector<std::pair<std::uint32_t, std::string>>;

  ExpectedPartition& partition(std::uint32_t number) { return *expected_->find(kKey, number); }
  std::size_t wanted(std::uint32_t number) { return expected_->next_fetch({expected_->turn(kKey, number), 0}).maps; }
  static HeldPtr blocks() { return std::make_shared<const HeldBlocks>(HeldBlocks{{}, {{0, 0}}, {}}); }

  static constexpr Expected::Key kKey{JobId(1), ShuffleId(2)};
  PrefetchOptions options_{.round = 2, .fetch_bytes = 64 * kBlockBytes, .least_bytes = 4 * kBlockBytes};
  std::optional<Expected> expected_;
  std::uint32_t map_ = 0;  // the next
};

TEST_F(ExpectedTest, EarlierRoundsComeFirstAndWithinARoundTheOrderOfReading) {
  begin({9, 4, 7}, 100);
  EXPECT_EQ(expected_->turn(kKey, 4).round, 0u);
  EXPECT_EQ(expected_->turn(kKey, 7).round, 1u);
  EXPECT_EQ(listed(), (Listed{{9, "a"}, {4, "a"}, {7, "a"}}));
}

TEST_F(ExpectedTest, APartitionsSourcesComeInTheOrderOfTheirAddressesAndThoseOfOtherRacksCanBeLeftOut) {
  Expected& expected = begin({9, 4}, 100);
  offer("d", 100);
  offer("b", 100, true);
  offer("0", 100, true);
  offer("c", 100);
  expected.list(kKey);
  EXPECT_EQ(listed(true), (Listed{{9, "a"}, {9, "c"}, {9, "d"}, {4, "a"}, {4, "c"}, {4, "d"}}));
  EXPECT_EQ(listed(), (Listed{{9, "0"}, {9, "b"}, {4, "0"}, {4, "b"}})) << "the others stay listed";
  expected.list(kKey);
  EXPECT_EQ(listed(), (Listed{{9, "0"}, {9, "a"}, {9, "b"}, {9, "c"}, {9, "d"}, {4, "0"}, {4, "a"}, {4, "b"}, {4, "c"}, {4, "d"}}));
}

TEST_F(ExpectedTest, WhatASourceHasMoreOfIsListedAloneAndTheOthersWhenTheyHaveBecomeWorthAFetch) {
  Expected& expected = begin({9, 4}, 100);
  ASSERT_EQ(listed().size(), 2u);
  expected.list_again(kKey);
  EXPECT_EQ(listed(), Listed{}) << "nothing is known better";
  expected.shuffles().at(kKey).complete = false;
  const std::uint32_t few = offer("b", 3);
  expected.list_source(kKey, few);
  EXPECT_EQ(listed(), Listed{}) << "three blocks of a wanted four";
  partition(4).map_bytes = 2 * kBlockBytes;
  expected.list_again(kKey);
  EXPECT_EQ(listed(), (Listed{{4, "a"}, {4, "b"}})) << "the blocks of that partition are larger";
  expected.shuffles().at(kKey).complete = true;
  expected.list_again(kKey);
  EXPECT_EQ(listed(), (Listed{{9, "a"}, {9, "b"}, {4, "a"}, {4, "b"}}));
}

TEST_F(ExpectedTest, WhatIsSkippedWaitsForAnyNewsOfItsShuffle) {
  Expected& expected = begin({9, 4}, 100);
  expected.skip(*expected.next(false));
  EXPECT_EQ(listed(), (Listed{{4, "a"}}));
  expected.list_again(kKey);
  EXPECT_EQ(listed(), (Listed{{9, "a"}}));
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
  partition(9).at[0].next = 998;
  EXPECT_EQ(wanted(9), 2u) << "no more are left";
}

TEST_F(ExpectedTest, LittleIsNotListedUntilAllOutputsAreKnownAndNothingThatIsDeferredOrTaken) {
  Expected& expected = begin({9, 4, 7}, 3);
  EXPECT_EQ(listed().size(), 3u);
  ExpectedShuffle& shuffle = expected.shuffles().at(kKey);
  expected.list(kKey);
  for (const std::uint32_t number : {9u, 4u, 7u}) expected.unlist(kKey, number);
  shuffle.complete = false;
  expected.list(kKey);
  EXPECT_FALSE(expected.next(false)) << "three blocks of a wanted four";
  const std::uint32_t source = offer("a", 1);
  shuffle.deferred = {4};
  partition(7).taken = true;
  expected.list_source(kKey, source);
  ASSERT_EQ(expected.next(false)->turn.partition, 9u);
  expected.pass_over("a");
  EXPECT_FALSE(expected.next(false));
  expected.list(kKey);
  EXPECT_FALSE(expected.next(false)) << "it has nothing until it offers something";
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

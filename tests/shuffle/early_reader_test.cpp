// Partitions that are read while their maps still run.
#include <algorithm>
#include <set>
#include <thread>

#include "tests/shuffle/partition_reader_fixture.hpp"

namespace weft::shuffle {
namespace {

using namespace test;

/// A shuffle whose maps end while it is read.
class EarlyReaderTest : public PartitionReaderTest {
 protected:
  void begin(std::uint32_t maps) {
    PartitionReaderTest::begin();
    tables_[kShuffle].maps = maps;
  }
  /// Runs what changes a table, and tells the reader.
  template <class Change>
  void change(Change what) {
    reactor_->run([&] {
      what(tables_[kShuffle]);
      if (reader_) reader_->locations_changed();
    });
  }
  void ends(std::uint32_t map, NodeId node, std::uint32_t attempt = 0) {
    make(map, node, attempt);
    change([&](KnownOutputs& table) { table.put({map, attempt, node}); });
  }
  static bool waits(std::future<Result<ReadPart>>& part) { return part.wait_for(20ms) == std::future_status::timeout; }
};

TEST_F(EarlyReaderTest, ReadsOutputsInOrderAsTheyCome) {
  begin(6);
  auto reading = std::async(std::launch::async, [&] { return read({2, 4}); });
  for (const std::uint32_t map : {4u, 0u, 2u, 1u, 5u, 3u}) {
    std::this_thread::sleep_for(10ms);
    ends(map, map % 2 == 0 ? kSelf : kOther);
  }
  const Outcome outcome = reading.get();
  EXPECT_FALSE(outcome.lost);
  for (const std::uint32_t partition : {2u, 3u}) EXPECT_EQ(outcome.maps.at(partition), all(6)) << "each once, in order";
}

TEST_F(EarlyReaderTest, WaitsForAMapThatHasNotEndedAndSaysHowLong) {
  begin(3);
  add(0, kSelf);
  add(2, kSelf);
  start({0, 1});
  auto part = request().get();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->next_map, 1u);
  EXPECT_FALSE(part->end);
  auto waiting = request();
  ASSERT_TRUE(waits(waiting));
  reactor_->run([&] { EXPECT_GT(reader_->waited(), 10ms); });
  change([](KnownOutputs&) {});
  ASSERT_TRUE(waits(waiting)) << "nothing is new";
  ends(1, kSelf);
  part = waiting.get();
  ASSERT_TRUE(part);
  EXPECT_GT(part->waited, 20ms);
  reactor_->run([&] { EXPECT_EQ(reader_->waited(), Duration(0)); });
  part = request().get();
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->end);
  EXPECT_EQ(part->waited, Duration(0));
  EXPECT_EQ(part->sources.size(), 2u);
}

TEST_F(EarlyReaderTest, FetchesWhatComesAfterAMissingMapMeanwhileAndNoMoreThanAFetchOfIt) {
  fetch_bytes_ = 2 * kBlock;
  begin(40);
  for (std::uint32_t map = 0; map < 40; ++map)
    if (map != 1) add(map, kOther);
  start({0, 1});
  std::set<std::uint32_t> came;
  std::uint32_t next = 0;
  std::future<Result<ReadPart>> waiting;
  for (int parts = 0; parts < 40; ++parts) {
    waiting = request();
    if (waits(waiting)) break;
    const auto part = waiting.get();
    ASSERT_TRUE(part && !part->lost);
    for (const BlockSource& source : part->sources)
      for (const MapOutput& map : source.maps) EXPECT_TRUE(came.insert(map.map).second) << map.map << " came twice";
    next = part->next_map;
  }
  EXPECT_EQ(next, 1u);
  EXPECT_GE(came.size(), 3u);
  EXPECT_LE(came.size(), 7u) << "what a task holds is bounded";
  EXPECT_FALSE(came.contains(1));
  ends(1, kOther);
  ASSERT_TRUE(waiting.get());
  while (true) {
    const auto part = request().get();
    ASSERT_TRUE(part && !part->lost);
    for (const BlockSource& source : part->sources)
      for (const MapOutput& map : source.maps) EXPECT_TRUE(came.insert(map.map).second) << map.map << " came twice";
    if (part->end) break;
  }
  EXPECT_EQ(came.size(), 40u);
}

TEST_F(EarlyReaderTest, OutputsOfALostNodeAreAwaitedAgainAndReadFromTheNextAttempt) {
  begin(2);
  add(0, kGone);
  add(1, kSelf);
  start({0, 1});
  auto waiting = request();
  reactor_->run([&] {
    nodes_.nodes.erase(kGone);
    nodes_.lost[kGone] = "it was lost";
    std::erase_if(tables_[kShuffle].outputs, [](const MapOutput& output) { return output.node == kGone; });
    reader_->locations_changed();
  });
  auto part = waiting.get();
  if (part && part->sources.empty()) part = waits(waiting = request()) ? Result<ReadPart>(ReadPart{}) : waiting.get();
  ASSERT_TRUE(part && !part->lost) << "its map runs again";
  ends(0, kOther, 1);
  if (waiting.valid()) {
    ASSERT_TRUE(waiting.get());
  }
  part = request().get();
  ASSERT_TRUE(part && !part->lost);
  ASSERT_FALSE(part->sources.empty());
  EXPECT_EQ(part->sources[0].maps[0].attempt, 1u);
  EXPECT_EQ(part->sources[0].maps[0].node, kOther);
}

TEST_F(EarlyReaderTest, AWaitCanBeInterrupted) {
  begin(2);
  start({0, 1});
  auto waiting = request();
  ASSERT_TRUE(waits(waiting));
  reactor_->run([&] { reader_->interrupt(); });
  const auto part = waiting.get();
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->sources.empty());
  EXPECT_EQ(part->next_map, 0u);
  EXPECT_FALSE(part->end);
}

TEST_F(EarlyReaderTest, OfSomeMapsOnlyThoseAreAwaited) {
  begin(10);
  add(4, kSelf);
  add(5, kSelf);
  const Outcome outcome = read({0, 1}, {4, 6});
  EXPECT_EQ(outcome.maps.at(0), (std::vector<std::uint32_t>{4, 5}));
}

}  // namespace
}  // namespace weft::shuffle

// Partitions read part by part from all the places where blocks can be.
#include <algorithm>
#include <set>

#include "base/sanitized.hpp"
#include "tests/shuffle/no_descriptors.hpp"
#include "tests/shuffle/partition_reader_fixture.hpp"

namespace weft::shuffle {
namespace {

using namespace test;

TEST_F(PartitionReaderTest, FindsBlocksWhereverTheyAreAndKeepsTheOrderOfMaps) {
  begin();
  std::vector<RemoteOutput> first;
  for (std::uint32_t map = 0; map < 90; ++map) add(map, map % 3 == 0 ? kSelf : kOther);
  for (std::uint32_t map = 0; map < 45; ++map)
    if (map % 3 != 0) first.push_back({address_, {map, 0}});
  expect({5});
  offer(first, true);
  ASSERT_TRUE(eventually([&](const PrefetcherState& now) { return now.held_bytes >= first.size() * kBlock; }));
  const Outcome outcome = read({5, 6});
  EXPECT_EQ(outcome.maps.at(5), all(90));
  EXPECT_EQ(outcome.count(BlockSource::Kind::segment), 30u);
  EXPECT_GE(outcome.count(BlockSource::Kind::prefetched), 1u);
  EXPECT_GE(outcome.count(BlockSource::Kind::fetched), 1u);
}

TEST_F(PartitionReaderTest, ReadsOneWholePartitionAfterTheOther) {
  begin();
  for (std::uint32_t map = 0; map < 20; ++map) add(map, map % 2 == 0 ? kSelf : kOther);
  const Outcome outcome = read({2, 5});
  for (std::uint32_t partition : {2u, 3u, 4u}) EXPECT_EQ(outcome.maps.at(partition), all(20));
  EXPECT_EQ(outcome.maps.size(), 3u);
  EXPECT_FALSE(outcome.error) << "the last part says that it is the last";
  EXPECT_TRUE(outcome.parts.back().end);
}

TEST_F(PartitionReaderTest, ReadsTheMapsOfARangeOnly) {
  begin();
  for (std::uint32_t map = 0; map < 20; ++map) add(map, map % 2 == 0 ? kSelf : kOther);
  EXPECT_EQ(read({1, 2}, {7, 10}).maps.at(1), (std::vector<std::uint32_t>{7, 8, 9}));
  EXPECT_TRUE(read({1, 2}, {30, 40}).maps.empty());
}

TEST_F(PartitionReaderTest, FetchesOnceForEachPartThatIsRequested) {
  begin();
  for (std::uint32_t map = 0; map < 60; ++map) add(map, kOther);
  const Outcome outcome = read({0, 1});
  EXPECT_EQ(outcome.maps.at(0), all(60));
  EXPECT_GE(outcome.count(BlockSource::Kind::fetched), 5u) << "it begins with one map, not knowing how large its blocks are";
  for (const ReadPart& part : outcome.parts) EXPECT_LE(part.sources.size(), 1u);
}

TEST_F(PartitionReaderTest, WhoseBlocksSizesAreKnownBeginsWithSeveralMaps) {
  begin();
  for (std::uint32_t map = 0; map < 20; ++map) add(map, kOther);
  const auto fetches = [&](std::uint64_t block_bytes) {
    reactor_->run([&] { prefetcher_->offer(kJob, kShuffle, {}, block_bytes, true); });
    const Outcome outcome = read({2, 3});
    EXPECT_EQ(outcome.maps.at(2), all(20));
    return outcome.count(BlockSource::Kind::fetched);
  };
  EXPECT_EQ(fetches(0), 5u) << "1, 2, 4, 8 and 5 maps";
  EXPECT_EQ(fetches(kBlock), 2u) << "16 and 4";
  EXPECT_EQ(fetches(fetch_bytes_ / 4), 3u) << "4, 8 and 8: the blocks are smaller than was said";
  EXPECT_EQ(fetches(2 * fetch_bytes_), 5u);
}

TEST_F(PartitionReaderTest, NodesAreAskedInTurnFromTheReadersOwnOn) {
  begin();
  const NodeId before{1}, own{5}, after{7}, last{9};
  nodes_.self = own;
  std::uint32_t map = 0;
  for (const NodeId node : {before, last, after}) {
    nodes_.nodes[node] = {"node", address_};
    put(map, 0);
    tables_[kShuffle].put({map++, 0, node});
  }
  std::vector<NodeId> asked;
  const Outcome outcome = read({2, 3});
  EXPECT_EQ(outcome.maps.at(2), all(3));
  for (const ReadPart& part : outcome.parts)
    for (const BlockSource& source : part.sources) asked.push_back(source.maps[0].node);
  EXPECT_EQ(asked, (std::vector{after, last, before}));
}

TEST_F(PartitionReaderTest, OfEachNodeATaskHoldsOneFetchAtMost) {
  fetch_bytes_ = 1;  // a map at a time
  begin();
  const NodeId third{4};
  nodes_.nodes[third] = {"third", address_};
  for (std::uint32_t map = 0; map < 40; ++map) {
    put(map, 0);
    tables_[kShuffle].put({map, 0, map < 20 ? third : kOther});  // which is asked first
  }
  const Outcome outcome = read({2, 3});
  EXPECT_EQ(outcome.maps.at(2), all(40));
  std::set<std::uint32_t> held;
  for (const ReadPart& part : outcome.parts) {
    for (const BlockSource& source : part.sources)
      for (const MapOutput& map : source.maps) held.insert(map.map);
    held.erase(held.begin(), held.lower_bound(part.next_map));
    EXPECT_LE(held.size(), 2u);
  }
}

TEST_F(PartitionReaderTest, WhileANodeCannotBeReachedOthersAreReadFirst) {
  begin();
  const NodeId third{4};
  nodes_.nodes[third] = {"third", address_};
  put(0, 0), put(1, 0);
  tables_[kShuffle].put({0, 0, third});
  tables_[kShuffle].put({1, 0, kGone});
  start({0, 1});
  auto part = request().get();
  ASSERT_TRUE(part && !part->lost);
  ASSERT_EQ(part->sources.size(), 1u);
  EXPECT_EQ(part->sources[0].maps[0].map, 0u);
  auto waiting = request();
  reactor_->run([&] {
    tables_[kShuffle].put({1, 0, kOther});
    reader_->locations_changed();
  });
  std::set<std::uint32_t> came;
  while (true) {
    part = waiting.get();
    ASSERT_TRUE(part && !part->lost);
    for (const BlockSource& source : part->sources) came.insert(source.maps[0].map);
    if (part->end) break;
    waiting = request();
  }
  EXPECT_EQ(came, std::set<std::uint32_t>{1});
}

TEST_F(PartitionReaderTest, WhatWorkersOfTheSameHostHaveIsMapped) {
  share();
  begin();
  for (std::uint32_t map = 0; map < 150; ++map) add(map, map % 2 == 0 ? kSelf : kOther);
  const Outcome outcome = read({3, 4});
  EXPECT_EQ(outcome.maps.at(3), all(150));
  EXPECT_EQ(outcome.count(BlockSource::Kind::segment), 150u);
  EXPECT_EQ(outcome.count(BlockSource::Kind::fetched), 0u);
}

TEST_F(PartitionReaderTest, WhatTheTaskHasMappedComesWithoutADescriptor) {
  share();
  begin();
  for (std::uint32_t map = 0; map < 20; ++map) add(map, map % 2 == 0 ? kSelf : kOther);
  std::map<std::uint32_t, std::shared_ptr<const Segment>> known;
  for (std::uint32_t map = 5; map < 15; ++map)
    known[map] = (map % 2 == 0 ? store_ : source_)->get({kJob, kShuffle, map, 0}).value();
  const Outcome outcome = read({3, 4}, {}, known);
  EXPECT_EQ(outcome.maps.at(3), all(20));
  EXPECT_EQ(outcome.count(BlockSource::Kind::known), 10u);
  EXPECT_EQ(outcome.count(BlockSource::Kind::segment), 10u);
}

TEST_F(PartitionReaderTest, ALostOutputIsNamedAfterWhatCameBeforeIt) {
  begin();
  for (const NodeId node : {kSelf, kOther}) {
    tables_.clear();
    for (std::uint32_t map = 0; map < 10; ++map) add(map, kSelf);
    store_->release({kJob, kShuffle, 7, 0});
    tables_[kShuffle].outputs[7].node = node;
    const Outcome outcome = read({0, 1});
    ASSERT_TRUE(outcome.lost);
    EXPECT_EQ(outcome.lost->output.map, 7u);
    EXPECT_EQ(outcome.lost->output.node, node);
    EXPECT_FALSE(outcome.lost->why.empty());
    EXPECT_EQ(outcome.maps.at(0), all(7));
    store_->release(kJob);
  }
}

TEST_F(PartitionReaderTest, AWorkerOfTheSameHostWithoutTheOutputLosesIt) {
  share();
  begin();
  add(0, kOther);
  tables_[kShuffle].put({1, 0, kOther});
  const Outcome outcome = read({0, 1});
  ASSERT_TRUE(outcome.lost);
  EXPECT_EQ(outcome.lost->output.map, 1u);
}

TEST_F(PartitionReaderTest, WithoutATableNothingIsRead) {
  begin();
  EXPECT_EQ(read({0, 1}).error.value().code(), Code::unavailable);
  add(0, kSelf);
  EXPECT_EQ(read({1, 1}).error.value().code(), Code::invalid_argument);
}

TEST_F(PartitionReaderTest, AnOutputThatIsSaidToHaveMovedIsReadWhereItIs) {
  begin();
  for (std::uint32_t map = 0; map < 10; ++map) add(map, map < 5 ? kSelf : kOther);
  const auto now = tables_;
  for (std::uint32_t map = 3; map < 10; ++map) tables_[kShuffle].outputs[map].node = kGone;
  start({0, 1});
  auto waiting = request();
  reactor_->run([&] {
    tables_ = now;
    reader_->locations_changed();
  });
  auto part = waiting.get();
  ASSERT_TRUE(part);
  EXPECT_FALSE(part->lost);
  EXPECT_EQ(part->next_map, 3u);
  part = request().get();
  ASSERT_TRUE(part);
  EXPECT_EQ(part->next_map, 6u) << "two that are here now, and the first that is fetched";
}

TEST_F(PartitionReaderTest, OutputsOfALostNodeThatHaveNotMovedAreLost) {
  begin();
  add(0, kGone);
  start({0, 1});
  auto waiting = request();
  reactor_->run([&] {
    nodes_.nodes.erase(kGone);
    nodes_.lost[kGone] = "the worker was lost: of age";
    reader_->locations_changed();
  });
  auto part = waiting.get();
  ASSERT_TRUE(part);
  ASSERT_TRUE(part->lost);
  EXPECT_EQ(part->lost->output.node, kGone);
  const auto began = std::chrono::steady_clock::now();
  const Outcome again = read({0, 1});
  EXPECT_LT(std::chrono::steady_clock::now() - began, 4s) << "nobody waits five seconds for what is known";
  ASSERT_TRUE(again.lost);
  EXPECT_NE(again.lost->why.find("of age"), std::string::npos);
}

TEST_F(PartitionReaderTest, AnOutputMovesThreeTimesAtMost) {
  begin();
  nodes_.nodes[NodeId(4)] = {"gone as well", "127.0.0.1:2"};
  add(0, kGone);
  start({0, 1});
  int moves = 0;
  for (;; ++moves) {
    auto waiting = request();
    reactor_->run([&] {
      NodeId& node = tables_[kShuffle].outputs[0].node;
      node = node == kGone ? NodeId(4) : kGone;
      reader_->locations_changed();
    });
    const auto part = waiting.get();
    ASSERT_TRUE(part);
    if (part->lost) break;
    ASSERT_LT(moves, 10);
  }
  EXPECT_EQ(moves, 3);
}

TEST_F(PartitionReaderTest, PrefetchedBlocksOfAnotherAttemptAreNotWanted) {
  begin();
  add(0, kOther, 1);
  for (std::uint32_t map = 1; map < 8; ++map) add(map, kOther);
  expect({4});
  std::vector<RemoteOutput> outputs{put(0, 0)};
  for (std::uint32_t map = 1; map < 8; ++map) outputs.push_back({address_, {map, 0}});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 8 * kBlock; }));
  const Outcome outcome = read({4, 5});
  EXPECT_EQ(outcome.maps.at(4), all(8));
  EXPECT_EQ(outcome.count(BlockSource::Kind::fetched), 1u) << "the attempt that counts";
}

TEST_F(PartitionReaderTest, AReaderThatIsGoneAnswersNobody) {
  begin();
  add(0, kGone);
  start({0, 1});
  auto waiting = request();
  reactor_->run([&] { reader_.reset(); });
  EXPECT_THROW(waiting.get(), std::future_error);
}

TEST_F(PartitionReaderTest, PrefetchedBlocksOfAnotherAttemptAreNotWantedAmongOthersEither) {
  begin();
  for (std::uint32_t map = 0; map < 7; ++map) add(map, kOther);
  add(7, kOther, 1);
  expect({4});
  std::vector<RemoteOutput> outputs{put(7, 0)};
  for (std::uint32_t map = 0; map < 7; ++map) outputs.push_back({address_, {map, 0}});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 8 * kBlock; }));
  const Outcome outcome = read({4, 5});
  EXPECT_EQ(outcome.maps.at(4), all(8));
  EXPECT_EQ(outcome.count(BlockSource::Kind::fetched), 1u);
}

TEST_F(PartitionReaderTest, WhatWasPrefetchedTwiceIsReadOnce) {
  begin();
  for (std::uint32_t map = 0; map < 8; ++map) add(map, kOther);
  expect({4});
  std::vector<RemoteOutput> before, moved;
  for (std::uint32_t map = 0; map < 8; ++map) before.push_back({"localhost" + address_.substr(address_.rfind(':')), {map, 0}});
  for (std::uint32_t map = 0; map < 4; ++map) moved.push_back({address_, {map, 0}});
  reactor_->run([&] {
    prefetcher_->offer(kJob, kShuffle, before, kBlock, true);
    prefetcher_->offer(kJob, kShuffle, moved, kBlock, true);  // while they are on their way
  });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 8 * kBlock; }));
  EXPECT_EQ(read({4, 5}).maps.at(4), all(8));
}

TEST_F(PartitionReaderTest, WhatWasHandedOutIsNotReadAgainFromBlocksThatWerePrefetched) {
  begin();
  for (std::uint32_t map = 0; map < 100; ++map) add(map, kSelf);
  put(0, 0);  // where it was before it moved here
  add(100, kOther);
  expect({4});
  offer({{address_, {0, 0}}, {address_, {100, 0}}}, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kBlock; }));
  const Outcome outcome = read({4, 5});
  EXPECT_EQ(outcome.maps.at(4), all(101));
  EXPECT_EQ(outcome.count(BlockSource::Kind::prefetched), 1u);
}

TEST_F(PartitionReaderTest, EachPartitionFindsWhatWasPrefetchedForIt) {
  begin();
  std::vector<RemoteOutput> outputs;
  for (std::uint32_t map = 0; map < 8; ++map) {
    add(map, kOther);
    outputs.push_back({address_, {map, 0}});
  }
  expect({2, 3});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * 8 * kBlock; }));
  const Outcome outcome = read({2, 4});
  EXPECT_EQ(outcome.maps.at(3), all(8));
  EXPECT_EQ(outcome.count(BlockSource::Kind::fetched), 0u);
}

TEST_F(PartitionReaderTest, AFetchHoldsAboutAsManyBytesAsAreWanted) {
  fetch_bytes_ = 4 * (kBlock + 1'000);
  begin();
  for (std::uint32_t map = 0; map < 40; ++map) add(map, kOther);
  const Outcome outcome = read({0, 1});
  EXPECT_EQ(outcome.maps.at(0), all(40));
  std::size_t most = 0;
  for (const ReadPart& part : outcome.parts)
    for (const BlockSource& source : part.sources) most = std::max(most, source.maps.size());
  EXPECT_EQ(most, 4u);
}

TEST_F(PartitionReaderTest, TheLostOutputIsNamedAmongThoseOfOneFetch) {
  begin();
  for (std::uint32_t map = 0; map < 16; ++map) add(map, kOther);
  source_->release({kJob, kShuffle, 10, 0});
  const Outcome outcome = read({0, 1});
  ASSERT_TRUE(outcome.lost);
  EXPECT_EQ(outcome.lost->output.map, 10u) << "fetched with those from 7 to 14";
}

/// A worker that has run for a while and finds no descriptor.
class ShortOfDescriptors : public PartitionReaderTest {
 protected:
  void SetUp() override {
    PartitionReaderTest::SetUp();
    if (kSanitized) GTEST_SKIP() << "a sanitizer needs a descriptor to look at memory";
  }
  /// The reactor makes its own with its first timer.
  void begin() {
    PartitionReaderTest::begin();
    reactor_->run([&] { (void)reactor_->after(1ms, [] {}); });
  }
  /// The first part, for which only the first try finds no descriptor.
  Result<ReadPart> read_after_a_moment(PartitionRange partitions) {
    start(partitions);
    std::promise<Result<ReadPart>> part;
    reactor_->run([&] {
      const NoDescriptors none;
      reader_->next({}, [&](Result<ReadPart> got) { part.set_value(std::move(got)); });
    });
    return part.get_future().get();
  }
};

TEST_F(ShortOfDescriptors, FailsTheReadAndLosesNothing) {
  begin();
  for (const NodeId node : {kSelf, kOther}) {
    tables_.clear();
    for (std::uint32_t map = 0; map < 3; ++map) add(map, node, node.value());
    ASSERT_FALSE(read({0, 1}).lost);  // connects
    {
      const NoDescriptors none;
      const Outcome outcome = read({1, 2});
      EXPECT_FALSE(outcome.lost) << outcome.lost->why;
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), Code::resource_exhausted);
    }
    EXPECT_EQ(read({1, 2}).maps.at(1), all(3));
  }
}

TEST_F(ShortOfDescriptors, WaitsForThemAMoment) {
  begin();
  for (std::uint32_t map = 0; map < 3; ++map) add(map, kSelf);
  const auto part = read_after_a_moment({0, 1});
  ASSERT_TRUE(part) << part.error().to_string();
  EXPECT_FALSE(part->lost);
  EXPECT_TRUE(part->end);
}

/// Of a store with more outputs than may be mapped, some lie in files that are opened when they are read.
TEST_F(ShortOfDescriptors, DoesNotLoseAnOutputThatItCannotOpen) {
  begin();
  const auto first =
      std::exchange(store_, Store::open(dir_->path() / "small", 1u << 30, 1, {.descriptors = 0, .mappings = 4}).value());
  for (std::uint32_t map = 0; map < 8; ++map) add(map, kSelf);
  const auto files = [&] {
    std::size_t count = 0;
    for (std::uint32_t map = 0; map < 8; ++map)
      count += (*store_->get({kJob, kShuffle, map, 0}))->home() == SegmentHome::file ? 1 : 0;
    return count;
  };
  for (const auto end = std::chrono::steady_clock::now() + 60s; files() < 4;) ASSERT_LT(std::chrono::steady_clock::now(), end);
  {
    const NoDescriptors none;
    const Outcome outcome = read({1, 2});
    EXPECT_FALSE(outcome.lost) << outcome.lost->why;
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), Code::resource_exhausted);
  }
  const auto part = read_after_a_moment({1, 2});
  EXPECT_TRUE(part && part->end && !part->lost);
  reactor_->run([&] {
    reader_.reset();
    prefetcher_.reset();  // of the first store
  });
}

TEST_F(PartitionReaderTest, AnotherAttemptElsewhereIsNotWhereTheOutputMoved) {
  begin();
  add(0, kGone);
  start({0, 1});
  auto waiting = request();
  reactor_->run([&] {
    tables_[kShuffle].put({0, 1, kSelf});
    reader_->locations_changed();
    nodes_.lost[kGone] = "it was lost";
    reader_->locations_changed();
  });
  const auto part = waiting.get();
  ASSERT_TRUE(part && part->lost);
  EXPECT_EQ(part->lost->output.node, kGone);
  EXPECT_EQ(part->lost->output.attempt, 0u);
}

/// kOther is as slow as the test wants.
class SlowWorkerTest : public PartitionReaderTest {
 protected:
  void SetUp() override {
    PartitionReaderTest::SetUp();
    longest_wait_ = 50ms;
  }
  void TearDown() override {
    go_on();
    PartitionReaderTest::TearDown();
  }
  /// It answers nothing until go_on().
  void stop_serving() {
    serving_->post([gate = gate_] { gate->get_future().wait(); });
  }
  void go_on() {
    if (!std::exchange(goes_on_, true)) gate_->set_value();
  }
  /// The next part has nothing of its own.
  void expect_to_wait(std::uint32_t for_map) {
    auto waiting = request();
    ASSERT_EQ(waiting.wait_for(20s), std::future_status::ready);
    const auto part = waiting.get();
    ASSERT_TRUE(part) << part.error().to_string();
    EXPECT_TRUE(part->sources.empty());
    EXPECT_EQ(part->next_map, for_map);
    EXPECT_FALSE(part->end || part->lost);
  }
  /// The maps of the other parts, as they come.
  std::vector<std::uint32_t> rest() {
    std::vector<std::uint32_t> maps;
    for (int parts = 0; parts < 400; ++parts) {
      auto part = request().get();
      EXPECT_TRUE(part && !part->lost);
      if (!part || part->lost) return maps;
      auto descriptor = part->descriptors.begin();
      for (const BlockSource& source : part->sources) {
        const auto blocks = Segment::open(std::move(*descriptor++)).value();
        for (std::uint32_t i = 0; i < source.maps.size(); ++i) {
          Outcome visited;
          visit(source.maps[i].map, 0, blocks, source.kind == BlockSource::Kind::segment ? 0 : i, visited);
          maps.push_back(source.maps[i].map);
        }
      }
      if (part->end) return maps;
    }
    ADD_FAILURE() << "it does not end";
    return maps;
  }

  const std::shared_ptr<std::promise<void>> gate_ = std::make_shared<std::promise<void>>();
  bool goes_on_ = false;
};

TEST_F(SlowWorkerTest, ATaskIsAnsweredWithWhatThereIsAndTheFetchGoesOnBehindIt) {
  begin();
  add(0, kSelf);
  add(1, kOther);
  add(2, kOther);
  stop_serving();
  start({0, 1});
  const auto first = request().get();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->sources.size(), 1u) << "what is here";
  EXPECT_EQ(first->next_map, 1u);
  expect_to_wait(1);
  expect_to_wait(1);
  go_on();
  std::this_thread::sleep_for(50ms);  // most likely it comes while no part is requested
  EXPECT_EQ(rest(), (std::vector<std::uint32_t>{1, 2})) << "each once";
}

TEST_F(SlowWorkerTest, WhatIsBeingPrefetchedGoesOnToo) {
  begin();
  add(0, kOther);
  stop_serving();
  expect({0});
  offer({{address_, {0, 0}}}, true);
  start({0, 1});
  expect_to_wait(0);
  go_on();
  EXPECT_EQ(rest(), (std::vector<std::uint32_t>{0}));
}

TEST_F(SlowWorkerTest, WhatIsBeingOpenedGoesOnToo) {
  share();
  begin();
  add(0, kOther);
  add(1, kOther);
  stop_serving();
  start({0, 1});
  expect_to_wait(0);
  go_on();
  EXPECT_EQ(rest(), (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(SlowWorkerTest, ALossThatIsFoundOutBetweenTwoPartsIsToldWithTheNextOne) {
  begin();
  add(0, kGone);
  start({0, 1});
  expect_to_wait(0);
  reactor_->run([&] {
    nodes_.lost[kGone] = "it was lost";
    nodes_.nodes.erase(kGone);
    reader_->locations_changed();
  });
  auto part = request().get();
  for (int parts = 0; parts < 400 && part && !part->lost && !part->end; ++parts) part = request().get();
  ASSERT_TRUE(part && part->lost);
  EXPECT_EQ(part->lost->output.node, kGone);
}

}  // namespace
}  // namespace weft::shuffle

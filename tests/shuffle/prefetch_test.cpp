#include "shuffle/prefetch/prefetch.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <map>

#include "tests/shuffle/prefetch_fixture.hpp"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;
using namespace test;

TEST_F(PrefetchTest, ATaskFindsWhatWasBroughtForIt) {
  open();
  expect({2, 5});
  std::vector<RemoteOutput> outputs = put_all(40);
  offer({outputs.begin(), outputs.begin() + 25}, false);
  offer({outputs.begin() + 25, outputs.end()}, true);
  for (std::uint32_t partition : {2u, 5u}) {
    ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * 40 * kBlock; }));
    EXPECT_EQ(attempts_of(take(partition), partition).size(), 40u);
  }
  EXPECT_TRUE(take(3).empty()) << "it was not expected here";
  EXPECT_EQ(store_->stats().reserved_bytes, stats().held_bytes);
  reactor_->run([&] { prefetcher_->drop(kJob, kShuffle, 2); });
  reactor_->run([&] { prefetcher_->drop(kJob); });
  EXPECT_EQ(stats().held_bytes, 0u);
  EXPECT_EQ(stats().held_segments, 0u);
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
}

TEST_F(PrefetchTest, ATaskThatBeginsGetsWhatIsUnderWayAndNothingMoreComes) {
  open();
  expect({1});
  const auto outputs = put_all(30);
  offer(outputs, true);
  const auto here = attempts_of(take(1), 1);  // while it is brought
  const std::uint64_t held = stats().held_segments;
  offer({put(30)}, true);
  EXPECT_EQ(attempts_of(take(1), 1), here);
  EXPECT_EQ(stats().held_segments, held);
}

TEST_F(PrefetchTest, WhatComesFromAnotherRackWaitsForALimitAndTheRestDoesNot) {
  open();
  expect({1});
  reactor_->run([&] { prefetcher_->limit_far(0); });
  std::vector<RemoteOutput> outputs = put_all(30);
  const std::string near = address_;
  for (RemoteOutput& output : outputs) {
    output.far = true;
    output.address = "localhost" + near.substr(near.rfind(':'));  // the same worker by another name
  }
  offer(outputs, true);
  offer({put(30), put(31), put(32), put(33)}, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 4 * kBlock; }));
  EXPECT_LT(stats().held_bytes, 5 * kBlock);
  reactor_->run([&] { prefetcher_->limit_far(1); });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 34 * kBlock; }));
  EXPECT_EQ(attempts_of(take(1), 1).size(), 34u);
}

TEST_F(PrefetchTest, EarlierRoundsComeFirstAndLaterOnesWhenThereIsRoomAgain) {
  constexpr std::uint32_t kMaps = 8;
  options_.round = 2;
  options_.fetch.pull.in_flight = 1;
  options_.memory_bytes = 2 * kMaps * (kBlock + 100) + 4096;  // one round
  open();
  const auto outputs = put_all(kMaps);
  expect({7, 6, 5, 4});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kMaps * kBlock; }));
  EXPECT_EQ(attempts_of(take(7), 7).size(), kMaps);
  EXPECT_EQ(attempts_of(take(6), 6).size(), kMaps);
  EXPECT_LE(stats().held_bytes, options_.memory_bytes);
  for (std::uint32_t partition : {7u, 6u}) reactor_->run([&] { prefetcher_->drop(kJob, kShuffle, partition); });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kMaps * kBlock; }));
  EXPECT_EQ(attempts_of(take(5), 5).size(), kMaps);
  EXPECT_EQ(attempts_of(take(4), 4).size(), kMaps);
}

TEST_F(PrefetchTest, ALaterRoundMakesWayForAnEarlierOneAndComesBack) {
  constexpr std::uint32_t kMaps = 8;
  options_.fetch.pull.in_flight = 1;
  options_.memory_bytes = kMaps * (kBlock + 100) + 4096;  // one partition
  open();
  const auto outputs = put_all(kMaps);
  expect({3});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kMaps * kBlock; }));
  expect({1, 3});
  ASSERT_TRUE(eventually(
      [](const PrefetcherState& now) { return now.evicted_bytes >= kMaps * kBlock && now.held_bytes >= kMaps * kBlock; }));
  EXPECT_EQ(attempts_of(take(1), 1).size(), kMaps);
  reactor_->run([&] { prefetcher_->drop(kJob, kShuffle, 1); });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kMaps * kBlock; }));
  EXPECT_EQ(attempts_of(take(3), 3).size(), kMaps);
}

TEST_F(PrefetchTest, WhatTheStoreHasNoRoomForIsNotKept) {
  open(256u << 10);
  expect({0, 1});
  offer(put_all(40), true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.prefetched_bytes > (256u << 10); }));
  EXPECT_LE(attempts_of(take(0), 0).size() + attempts_of(take(1), 1).size(), 8u);
  EXPECT_LE(store_->stats().reserved_bytes, 256u << 10);
}

TEST_F(PrefetchTest, AWorkerThatIsGoneCostsNothingButTheTry) {
  open();
  std::vector<RemoteOutput> outputs = put_all(10);
  for (std::uint32_t map = 10; map < 20; ++map) outputs.push_back({"127.0.0.1:1", {map, 0}});
  expect({0, 1, 2, 3, 4, 5, 6, 7});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kPartitions * 10 * kBlock; }));
  for (std::uint32_t partition = 0; partition < kPartitions; ++partition)
    EXPECT_EQ(attempts_of(take(partition), partition).size(), 10u);
}

TEST_F(PrefetchTest, AnOutputThatWasMadeAgainComesWithItsNewAttempt) {
  open();
  expect({4});
  RemoteOutput lost{address_, {0, 0}};  // the store has no such thing
  offer({lost}, false, options_.least_bytes);
  offer({put(0, 1), put(1)}, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kBlock; }));
  EXPECT_EQ(attempts_of(take(4), 4), (std::map<std::uint32_t, std::uint32_t>{{0, 1}, {1, 0}}));
}

TEST_F(PrefetchTest, AnOutputThatHasMovedComesFromWhereItIsNowUnlessItIsHere) {
  open();
  expect({4});
  const auto copies = put_all(8);
  auto first = copies, moved = copies;
  for (std::size_t map = 0; map < 4; ++map) {
    first[map].address = "127.0.0.1:1";                                           // a worker that is gone
    moved[map + 4].address = "localhost" + address_.substr(address_.rfind(':'));  // one that is lost now
  }
  offer(first, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 4 * kBlock; }));
  offer(moved, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 8 * kBlock; }));
  EXPECT_EQ(attempts_of(take(4), 4).size(), 8u);
  EXPECT_LT(stats().prefetched_bytes, 9 * kBlock) << "nothing twice";
}

TEST_F(PrefetchTest, LittleWaitsForMoreAndVeryLittleIsLeftToTheTask) {
  open();
  expect({0});
  offer(put_all(2), false);  // 64 KiB of a wanted 128
  offer({put(2)}, false);
  EXPECT_EQ(stats().prefetched_bytes, 0u);
  offer({put(3)}, false);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 4 * kBlock; }));
  reactor_->run([&] { prefetcher_->expect(kJob, ShuffleId(9), {0}); });
  reactor_->run([&] { prefetcher_->offer(kJob, ShuffleId(9), {{address_, {0, 0}}}, 100, true); });
  EXPECT_TRUE(take(5).empty());
  EXPECT_EQ(stats().held_segments, 1u);
}

TEST_F(PrefetchTest, WhatIsNotExpectedAnyMoreIsGivenUp) {
  open();
  expect({0, 1});
  offer(put_all(8), true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * 8 * kBlock; }));
  EXPECT_FALSE(take(0).empty());
  expect({2});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.prefetched_bytes >= 3 * 8 * kBlock; }));
  EXPECT_FALSE(take(0).empty()) << "its task runs";
  EXPECT_TRUE(take(1).empty());
  EXPECT_EQ(attempts_of(take(2), 2).size(), 8u);
  EXPECT_LT(stats().held_bytes, 3 * 8 * kBlock) << "the partition that nobody reads gave its memory back";
  EXPECT_GE(stats().wasted_bytes, 8 * kBlock);
}

TEST_F(PrefetchTest, AnOutputThatIsOfferedTwiceIsFetchedOnce) {
  open();
  expect({4});
  const auto outputs = put_all(8);
  offer(outputs, true);
  offer(outputs, true);  // while it is on its way
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 8 * kBlock; }));
  offer(outputs, true);
  EXPECT_EQ(attempts_of(take(4), 4).size(), 8u);
  EXPECT_LT(stats().prefetched_bytes, 9 * kBlock);
}

TEST_F(PrefetchTest, WhatIsReadInTheSameRoundDoesNotMakeWay) {
  constexpr std::uint32_t kMaps = 8;
  options_.round = 2;
  options_.memory_bytes = kMaps * (kBlock + 100) + 4096;  // one partition
  open();
  const auto outputs = put_all(kMaps);
  expect({3});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kMaps * kBlock; }));
  expect({1, 3});
  background_->run([] {});  // an eviction would be written by then
  EXPECT_EQ(stats().evictions, 0u);
  EXPECT_EQ(attempts_of(take(3), 3).size(), kMaps);
}

TEST_F(PrefetchTest, NoMoreSegmentsAreHeldThanMayBe) {
  options_.segments = 2;
  open();
  expect({0, 1, 2, 3, 4, 5, 6, 7});
  offer(put_all(8), true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_segments >= 2; }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_LE(stats().held_segments, 2u);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(attempts_of(take(0), 0).size(), 8u);
}

TEST_F(PrefetchTest, WhatIsOnItsWayBackHasItsPlaceInMemory) {
  constexpr std::uint32_t kMaps = 8;
  options_.fetch.pull.in_flight = 2;
  options_.memory_bytes = kMaps * (kBlock + 100) + 4096;  // one partition
  open();
  const auto outputs = put_all(kMaps);
  expect({3});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kMaps * kBlock; }));
  reactor_->run([&] { prefetcher_->defer(kJob, kShuffle, {3}); });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.evictions == 1 && now.held_bytes == 0; }));
  std::promise<void> go_on;
  background_->post([&] { go_on.get_future().wait(); });  // nothing is read back until then
  reactor_->run([&] { prefetcher_->defer(kJob, kShuffle, {}); });
  expect({3, 5});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(stats().held_bytes, 0u) << "another partition took its place";
    std::this_thread::sleep_for(1ms);
  }
  go_on.set_value();
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.returned_bytes >= kMaps * kBlock; }));
  EXPECT_LE(stats().held_bytes, options_.memory_bytes);
  EXPECT_EQ(attempts_of(take(3), 3).size(), kMaps);
}

/// A worker that does not answer, and a task that waits for its blocks until `end`.
class SilentWorker : public PrefetchTest {
 protected:
  void wait_until(const std::function<void(const std::string& address)>& end);
};

void SilentWorker::wait_until(const std::function<void(const std::string& address)>& end) {
  std::promise<void> asked;
  std::vector<rpc::Responder> kept;
  std::unique_ptr<rpc::Listener> listener;
  std::string address;
  serving_->run([&] {
    listener = serving_
                   ->listen({"127.0.0.1:0"}, transfer_limits(),
                            [&](const rpc::ConnectionPtr&) {
                              rpc::Handler handler;
                              handler.on_request = [&](const rpc::ConnectionPtr&, rpc::Message, rpc::Responder responder) {
                                kept.push_back(std::move(responder));
                                if (kept.size() == 1) asked.set_value();
                              };
                              return handler;
                            })
                   .value();
    address = listener->endpoint().text;
  });
  options_.fetch.pull.reply_deadline = 100s;
  open();
  expect({0});
  offer({{address, {0, 0}}}, true);
  std::promise<std::vector<HeldPtr>> promise;
  reactor_->run(
      [&] { prefetcher_->take(kJob, kShuffle, 0, [&](std::vector<HeldPtr> all) { promise.set_value(std::move(all)); }); });
  auto future = promise.get_future();
  asked.get_future().get();
  EXPECT_EQ(future.wait_for(0s), std::future_status::timeout);
  reactor_->run([&] { end(address); });
  EXPECT_TRUE(future.get().empty());
  reactor_->run([&] { prefetcher_.reset(); });
  serving_->run([&] {
    kept.clear();
    listener.reset();
  });
}

TEST_F(SilentWorker, KeepsNobodyWhenTheJobEnds) {
  wait_until([this](const std::string&) { prefetcher_->drop(kJob); });
}

TEST_F(SilentWorker, KeepsNobodyWhenItIsLost) {
  wait_until([this](const std::string& address) { prefetcher_->forget(address, Error(Code::unavailable, "it was lost")); });
}

TEST_F(PrefetchTest, APartitionThatIsLargerThanTheOthersIsNotBroughtAtOnce) {
  options_.fetch_bytes = 8 * kBlock;
  options_.fetch.pull.in_flight = 1;
  open();
  expect({0});
  offer(put_all(64), true, kBlock / 64);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 64 * kBlock; }));
  const std::vector<HeldPtr> all = take(0);
  std::size_t maps = 0, largest = 0;
  for (const HeldPtr& blocks : all) {
    maps += blocks->maps.size();
    largest = std::max(largest, blocks->maps.size());
  }
  EXPECT_EQ(maps, 64u);
  EXPECT_EQ(largest, 32u) << "the first one, a sixteenth of what the mean makes believe";
  EXPECT_GE(all.size(), 1u + 32 / 8);
}

TEST_F(PrefetchTest, WhatTheSameHostHasIsNotMoved) {
  share();
  open();
  expect({0, 1});
  const auto outputs = put_all(10);
  offer(outputs, true);
  std::promise<void> known;  // an answer of the neighbour that comes after the prefetcher's
  reactor_->run([&] {
    same_host_->open(address_, kJob, kShuffle, {{0, 0}}, [&](const Result<std::vector<Fd>>& opened) {
      EXPECT_TRUE(opened);
      known.set_value();
    });
  });
  known.get_future().get();
  offer({put(10)}, true);
  EXPECT_TRUE(take(0).empty());
  EXPECT_EQ(stats().prefetched_bytes, 0u);
}

}  // namespace
}  // namespace weft::shuffle

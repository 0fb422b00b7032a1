// Prefetched blocks that leave memory: when they do, that they come back unchanged, and what happens when they cannot.
#include <future>

#include <sys/mount.h>
#include <unistd.h>

#include "tests/shuffle/open_files.hpp"
#include "tests/shuffle/prefetch_fixture.hpp"

namespace weft::shuffle {
namespace {

using namespace test;

constexpr std::uint32_t kOutputs = 8;
constexpr std::uint64_t kPartitionBytes = kOutputs * kBlock;

/// Partitions 0 and 1 are there, or about to come.
class PrefetchEviction : public PrefetchTest {
 protected:
  void bring() {
    source_->release(kJob);
    expect({0, 1});
    offer(put_all(kOutputs), true);
    ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kPartitionBytes; }));
  }
  void defer(const std::vector<std::uint32_t>& partitions) {
    reactor_->run([&] { prefetcher_->defer(kJob, kShuffle, partitions); });
  }
  /// Partition 1 is in a file.
  void evict() {
    bring();
    defer({1});
    ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.evictions == 1; }));
  }
  void damage() {
    const auto files = unnamed_files_in(dir_->path() / "store");
    ASSERT_EQ(files.size(), 1u);
    char byte = 0;
    ASSERT_EQ(::pread(files[0], &byte, 1, 40), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(files[0], &byte, 1, 40), 1);
  }
  std::size_t files() const { return unnamed_files_in(dir_->path() / "store").size(); }
  /// Nothing is written or read back until the result is destroyed.
  std::shared_ptr<void> hold_up_disk() {
    auto go = std::make_shared<std::promise<void>>();
    background_->post([future = std::make_shared<std::future<void>>(go->get_future())] { future->wait(); });
    return {nullptr, [go](void*) { go->set_value(); }};
  }
  void finish_disk_work() {
    background_->run([] {});
    reactor_->run([] {});
  }
  std::size_t maps_taken(std::uint32_t partition) { return attempts_of(take(partition), partition).size(); }
};

TEST_F(PrefetchEviction, WhatIsHeldBackLeavesMemoryAndComesBackAsItWas) {
  open();
  evict();
  EXPECT_LT(stats().held_bytes, 2 * kPartitionBytes);
  EXPECT_LT(store_->stats().reserved_bytes, 2 * kPartitionBytes) << "its memory is free";
  EXPECT_GE(stats().evicted_bytes, kPartitionBytes);
  EXPECT_GT(stats().file_bytes, 0u);
  EXPECT_LT(stats().file_bytes, kPartitionBytes / 10) << "it compresses well";
  EXPECT_EQ(maps_taken(0), kOutputs);
  defer({});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.returned_bytes > 0; }));
  EXPECT_EQ(files(), 0u);
  const std::uint64_t brought = stats().prefetched_bytes;
  EXPECT_EQ(maps_taken(1), kOutputs);
  EXPECT_EQ(stats().prefetched_bytes, brought) << "nothing was fetched for it again";
  EXPECT_EQ(store_->stats().reserved_bytes >= stats().held_bytes, true);
  reactor_->run([&] { prefetcher_->drop(kJob); });
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
}

TEST_F(PrefetchEviction, ItIsBackWhenItsTaskBegins) {
  open();
  evict();
  EXPECT_EQ(maps_taken(1), kOutputs);
  EXPECT_GE(stats().returned_bytes, kPartitionBytes);
  EXPECT_EQ(files(), 0u);
}

TEST_F(PrefetchEviction, NothingIsBroughtOfWhatIsHeldBackUntilItIsWanted) {
  open();
  defer({1});
  expect({0, 1});
  offer(put_all(kOutputs), true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kPartitionBytes; }));
  EXPECT_LT(stats().prefetched_bytes, 2 * kPartitionBytes);
  defer({});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kPartitionBytes; }));
  EXPECT_EQ(maps_taken(1), kOutputs);
}

TEST_F(PrefetchEviction, ALaterRoundLeavesMemoryForAnEarlierOneAndIsNotFetchedAgain) {
  options_.fetch.pull.in_flight = 1;
  options_.memory_bytes = kPartitionBytes + kOutputs * 100 + 4096;  // one partition
  open();
  const auto outputs = put_all(kOutputs);
  expect({3});
  offer(outputs, true);
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= kPartitionBytes; }));
  expect({1, 3});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.evictions == 1 && now.held_bytes >= kPartitionBytes; }));
  EXPECT_EQ(maps_taken(1), kOutputs);
  reactor_->run([&] { prefetcher_->drop(kJob, kShuffle, 1); });
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.returned_bytes > 0; }));
  EXPECT_EQ(maps_taken(3), kOutputs);
  EXPECT_LT(stats().prefetched_bytes, 3 * kPartitionBytes);
}

TEST_F(PrefetchEviction, WhatIsInAFileIsNotBroughtAgainWhenItHasMoved) {
  open();
  evict();
  std::vector<RemoteOutput> moved;
  for (std::uint32_t map = 0; map < kOutputs; ++map)
    moved.push_back({"localhost" + address_.substr(address_.rfind(':')), {map, 0}});
  offer(moved, true);
  const std::uint64_t brought = stats().prefetched_bytes;
  defer({});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kPartitionBytes; }));
  EXPECT_EQ(maps_taken(1), kOutputs);
  EXPECT_EQ(stats().prefetched_bytes, brought);
}

TEST_F(PrefetchEviction, EachByteIsAccountedForByJob) {
  const auto changed = [&] {
    Prefetcher::JobBytes jobs;
    reactor_->run([&] { jobs = prefetcher_->changed_jobs(); });
    return jobs;
  };
  open();
  evict();
  EXPECT_EQ(maps_taken(0), kOutputs);
  EXPECT_EQ(maps_taken(0), kOutputs) << "by another attempt";
  const auto some = changed();
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].first, kJob);
  const PrefetchStats before = some[0].second;
  EXPECT_GE(before.read_bytes, kPartitionBytes);
  EXPECT_LT(before.read_bytes, before.prefetched_bytes);
  EXPECT_EQ(before.prefetched_bytes - before.read_bytes, before.evicted_bytes) << "one was read once, the other is in a file";
  EXPECT_EQ(before.evicted_file_bytes, stats().file_bytes);
  EXPECT_EQ(before.wasted_bytes + before.returned_bytes, 0u);
  EXPECT_TRUE(changed().empty()) << "nothing new";
  reactor_->run([&] { prefetcher_->report_all_jobs(); });
  EXPECT_EQ(changed().size(), 1u) << "again, for one that has forgotten it";
  EXPECT_TRUE(changed().empty());
  reactor_->run([&] { prefetcher_->drop(kJob); });
  const auto last = changed();
  ASSERT_EQ(last.size(), 1u) << "once more at its end";
  EXPECT_EQ(last[0].second.wasted_bytes, before.evicted_bytes);
  EXPECT_EQ(last[0].second.prefetched_bytes, last[0].second.read_bytes + last[0].second.wasted_bytes);
  EXPECT_TRUE(changed().empty());
}

TEST_F(PrefetchEviction, ADamagedFileIsNotReadAndItsTaskFetchesInstead) {
  open();
  evict();
  damage();
  EXPECT_TRUE(take(1).empty());
  EXPECT_GE(stats().dropped_bytes, kPartitionBytes);
  EXPECT_EQ(files(), 0u);
}

TEST_F(PrefetchEviction, WhatWasDamagedOnDiskIsFetchedFromItsSourceAgain) {
  open();
  evict();
  damage();
  defer({});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kPartitionBytes; }));
  EXPECT_GE(stats().prefetched_bytes, 3 * kPartitionBytes);
  EXPECT_EQ(maps_taken(1), kOutputs);
}

TEST_F(PrefetchEviction, WhatAFullDiskDoesNotTakeIsGivenUpAndFetchedAgain) {
  const std::string directory = dir_->path() / "store";
  ASSERT_TRUE(std::filesystem::create_directory(directory));
  if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=4k") != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  open();
  bring();
  defer({0, 1});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.dropped_bytes > 0 && now.held_bytes == 0; }));
  finish_disk_work();
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
  defer({});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.held_bytes >= 2 * kPartitionBytes; }));
  EXPECT_EQ(maps_taken(0), kOutputs);
  EXPECT_EQ(maps_taken(1), kOutputs);
  reactor_->run([&] { prefetcher_.reset(); });
  reactor_.reset();
  background_.reset();
  store_.reset();
  ::umount(directory.c_str());
  reactor_ = rpc::Reactor::start("for the tear-down");
}

TEST_F(PrefetchEviction, FilesTakeNoMoreOfTheDiskThanTheyMay) {
  options_.disk_bytes = kPartitionBytes + kPartitionBytes / 2;
  open();
  bring();
  defer({0, 1});
  ASSERT_TRUE(eventually([](const PrefetcherState& now) { return now.evictions == 1 && now.dropped_bytes >= kPartitionBytes; }));
  EXPECT_EQ(files(), 1u);
  reactor_->run([&] { prefetcher_->drop(kJob); });
  finish_disk_work();
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(stats().file_bytes, 0u);
}

TEST_F(PrefetchEviction, ATaskThatBeginsMeanwhileGetsWhatIsStillInMemory) {
  open();
  bring();
  auto held_up = hold_up_disk();
  defer({1});
  EXPECT_EQ(maps_taken(1), kOutputs);
  held_up.reset();
  finish_disk_work();
  EXPECT_EQ(files(), 0u);
  EXPECT_GE(stats().held_bytes, 2 * kPartitionBytes);
  EXPECT_EQ(stats().evictions, 0u);
}

TEST_F(PrefetchEviction, WhatIsWantedAgainMeanwhileStays) {
  open();
  bring();
  auto held_up = hold_up_disk();
  defer({1});
  EXPECT_LT(stats().held_bytes, 2 * kPartitionBytes);
  defer({});
  EXPECT_GE(stats().held_bytes, 2 * kPartitionBytes);
  held_up.reset();
  finish_disk_work();
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(maps_taken(1), kOutputs);
}

TEST_F(PrefetchEviction, AJobThatEndsMeanwhileLeavesNothing) {
  open();
  bring();
  {
    auto held_up = hold_up_disk();
    defer({1});
    reactor_->run([&] { prefetcher_->drop(kJob); });
    held_up.reset();
    finish_disk_work();
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
  evict();
  {
    auto held_up = hold_up_disk();
    defer({});  // it is on its way back
    reactor_->run([&] { prefetcher_->drop(kJob); });
    held_up.reset();
    finish_disk_work();
  }
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(stats().held_bytes, 0u);
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
}

TEST_F(PrefetchEviction, APrefetcherThatGoesMeanwhileLeavesNothing) {
  open();
  evict();
  auto held_up = hold_up_disk();
  defer({0});
  reactor_->run([&] { prefetcher_.reset(); });
  held_up.reset();
  finish_disk_work();
  EXPECT_EQ(files(), 0u);
  EXPECT_EQ(store_->stats().reserved_bytes, 0u);
}

TEST_F(PrefetchEviction, LessMemoryThanABlockBringsNothingAndTasksAreAnswered) {
  options_.memory_bytes = kBlock / 2;
  open();
  expect({0, 1});
  offer(put_all(kOutputs), true);
  EXPECT_TRUE(take(0).empty());
  EXPECT_EQ(stats().held_bytes, 0u);
  EXPECT_EQ(stats().prefetched_bytes, 0u);
}

}  // namespace
}  // namespace weft::shuffle

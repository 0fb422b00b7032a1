#include "shuffle/store/store.hpp"

#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/sanitized.hpp"
#include "shuffle/store/local_task_shuffle.hpp"
#include "tests/shuffle/no_descriptors.hpp"

namespace weft::shuffle {
namespace {

void wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the condition never came true";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

SealedSegment make_segment(const std::string& text, Result<std::unique_ptr<SegmentWriter>> writer = SegmentWriter::in_memory(2)) {
  EXPECT_TRUE(writer);
  EXPECT_TRUE((*writer)->append(0, as_bytes(text), 1));
  EXPECT_TRUE((*writer)->append(1, as_bytes("end"), 1));
  auto sealed = (*writer)->seal();
  EXPECT_TRUE(sealed);
  return std::move(*sealed);
}

SegmentKey key(std::uint64_t job, std::uint32_t shuffle, std::uint32_t map, std::uint32_t attempt = 0) {
  return {JobId(job), ShuffleId(shuffle), map, attempt};
}

std::string first_text(const Segment& segment) { return std::string(as_chars(segment.bytes(segment.extents(0)[0]))); }

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto dir = TempDir::create();
    ASSERT_TRUE(dir);
    dir_.emplace(std::move(*dir));
  }
  std::unique_ptr<Store> open(std::uint64_t budget) {
    auto store = Store::open(dir_->path() / "store", budget);
    EXPECT_TRUE(store) << store.error().to_string();
    return std::move(*store);
  }
  std::optional<TempDir> dir_;
};

TEST_F(StoreTest, FindsWhatWasPutUntilItIsReleased) {
  auto store = open(1u << 30);
  ASSERT_TRUE(store->put(key(1, 2, 3), make_segment("a")));
  ASSERT_TRUE(store->put(key(1, 2, 4), make_segment("b")));
  ASSERT_TRUE(store->put(key(1, 3, 0), make_segment("c")));
  ASSERT_TRUE(store->put(key(2, 2, 0), make_segment("d")));
  EXPECT_EQ(store->put(key(1, 2, 3), make_segment("a")).error().code(), Code::already_exists);
  EXPECT_EQ(first_text(**store->get(key(1, 2, 4))), "b");
  EXPECT_EQ(store->get(key(1, 2, 3, 1)).error().code(), Code::not_found);
  EXPECT_EQ(store->segments(), (std::vector{key(1, 2, 3), key(1, 2, 4), key(1, 3, 0), key(2, 2, 0)}));
  store->release(JobId(1), ShuffleId(2));
  EXPECT_EQ(store->segments(), (std::vector{key(1, 3, 0), key(2, 2, 0)}));
  EXPECT_EQ(store->get(key(1, 2, 3)).error().code(), Code::not_found);
  EXPECT_EQ(first_text(**store->get(key(1, 3, 0))), "c");
  store->release(JobId(1));
  EXPECT_EQ(store->get(key(1, 3, 0)).error().code(), Code::not_found);
  EXPECT_EQ(first_text(**store->get(key(2, 2, 0))), "d");
  EXPECT_EQ(store->stats().segments, 1u);
}

TEST_F(StoreTest, ReleasesOneOutputAndKeepsTheOthers) {
  auto store = open(1u << 20);
  const std::string block(300'000, 'x');
  for (std::uint32_t map = 0; map < 8; ++map) ASSERT_TRUE(store->put(key(1, 2, map), make_segment(block)));
  wait_until([&] { return store->stats().memory_bytes <= 1u << 20; });  // some are on disk
  for (const std::uint32_t map : {0u, 7u}) {
    store->release(key(1, 2, map));
    EXPECT_EQ(store->get(key(1, 2, map)).error().code(), Code::not_found);
  }
  store->release(key(1, 2, 0));
  store->release(key(1, 2, 99));
  EXPECT_EQ(store->stats().segments, 6u);
  for (std::uint32_t map = 1; map < 7; ++map) EXPECT_TRUE(store->get(key(1, 2, map)));
  ASSERT_TRUE(store->put(key(1, 2, 0), make_segment("again")));
  EXPECT_EQ(first_text(**store->get(key(1, 2, 0))), "again");
  for (std::uint32_t map = 0; map < 7; ++map) store->release(key(1, 2, map));
  const StoreStats stats = store->stats();
  EXPECT_EQ(stats.segments, 0u);
  EXPECT_EQ(stats.memory_bytes, 0u);
  EXPECT_EQ(stats.disk_bytes, 0u);
}

TEST_F(StoreTest, MovesSegmentsToDiskWhenOverBudgetAndStillServesThem) {
  auto store = open(1u << 20);
  const std::string block(300'000, 'x');
  std::shared_ptr<const Segment> held;
  for (std::uint32_t map = 0; map < 8; ++map) {
    ASSERT_TRUE(store->put(key(1, 0, map), make_segment(block + std::to_string(map))));
    if (map == 0) held = *store->get(key(1, 0, 0));
  }
  wait_until([&] { return store->stats().memory_bytes <= 1u << 20; });
  EXPECT_GT(store->stats().disk_bytes, 1'000'000u);
  EXPECT_EQ(store->stats().disk_bytes, store->stats().evicted_bytes);
  EXPECT_EQ(first_text(*held), block + "0");  // a reader keeps what it has
  for (std::uint32_t map = 0; map < 8; ++map) {
    auto segment = store->get(key(1, 0, map));
    ASSERT_TRUE(segment);
    EXPECT_EQ(first_text(**segment), block + std::to_string(map));
    for (const Extent& extent : (*segment)->extents(0)) EXPECT_TRUE(verify((*segment)->bytes(extent), extent));
  }
  store->release(JobId(1));
  EXPECT_EQ(store->stats().memory_bytes + store->stats().disk_bytes + store->stats().segments, 0u);
}

/// Puts maps of one block each; which of the job's then lie in memory once the store keeps to its budget.
class StoreOrder : public StoreTest {
 protected:
  void put(std::uint64_t job, std::uint32_t maps, std::size_t bytes, std::uint32_t first = 0) {
    for (std::uint32_t map = first; map < first + maps; ++map)
      ASSERT_TRUE(store_->put(key(job, 0, map), make_segment(std::string(bytes, 'x'))));
  }
  std::vector<std::uint32_t> in_memory(std::uint64_t job) {
    wait_until([&] { return store_->stats().memory_bytes <= kBudget; });
    std::vector<std::uint32_t> maps;
    for (std::uint32_t map = 0;; ++map) {
      const auto segment = store_->get(key(job, 0, map));
      if (!segment) return maps;
      if ((*segment)->home() != SegmentHome::file) maps.push_back(map);
    }
  }
  using Maps = std::vector<std::uint32_t>;
  static constexpr std::uint64_t kBudget = 1u << 20;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreOrder, TheLatestJobsLargestMapIdsGoFirst) {
  store_ = open(kBudget);
  put(2, 3, 120'000);
  put(1, 6, 120'000);
  EXPECT_EQ(in_memory(2), (Maps{0, 1})) << "though they were there first";
  EXPECT_EQ(in_memory(1), (Maps{0, 1, 2, 3, 4, 5}));
  put(1, 4, 120'000, 6);
  EXPECT_EQ(in_memory(2), (Maps{}));
  EXPECT_EQ(in_memory(1), (Maps{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(StoreOrder, ASmallJobStaysInMemoryWhateverOthersPut) {
  store_ = open(kBudget);
  put(3, 2, 20'000);
  put(1, 20, 120'000);
  EXPECT_EQ(in_memory(3), (Maps{0, 1}));
  EXPECT_EQ(in_memory(1), (Maps{0, 1, 2, 3, 4, 5, 6, 7}));
  put(3, 3, 20'000, 2);
  EXPECT_EQ(in_memory(3), (Maps{0, 1, 2, 3})) << "it is not small any more";
  EXPECT_EQ(in_memory(1), (Maps{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(StoreOrder, SmallJobsGoWhenThereAreNoOthers) {
  store_ = open(kBudget);
  for (std::uint64_t job = 1; job <= 20; ++job) put(job, 1, 60'000);
  EXPECT_EQ(in_memory(1), (Maps{0}));
  EXPECT_EQ(in_memory(17), (Maps{0}));
  EXPECT_EQ(in_memory(18), (Maps{}));
}

TEST_F(StoreOrder, ASmallJobsRoomIsNotRefusedAndLargeOnesMakeWay) {
  constexpr std::uint64_t kRoomy = 8u << 20;
  store_ = open(kRoomy);
  put(1, 4, 2'085'000);  // all but 48,000
  EXPECT_EQ(store_->reserve(JobId(1), ShuffleId(1)).bytes(), 0u);
  const SegmentRoom room = store_->reserve(JobId(2), ShuffleId(0));
  EXPECT_EQ(room.bytes(), kRoomy / 16 / 2);
  wait_until([&] { return store_->stats().memory_bytes + store_->stats().reserved_bytes <= kRoomy; });
  EXPECT_EQ((*store_->get(key(1, 0, 3)))->home(), SegmentHome::file);
  EXPECT_EQ((*store_->get(key(1, 0, 2)))->home(), SegmentHome::memory);
}

TEST_F(StoreOrder, ASmallJobGetsNoMoreThanItMayHave) {
  constexpr std::uint64_t kRoomy = 8u << 20;
  store_ = open(kRoomy);
  put(1, 160, 52'000);  // small enough that what makes way leaves no more than was asked for
  std::vector<SegmentRoom> rooms;
  for (int i = 0; i < 10; ++i) {
    rooms.push_back(store_->reserve(JobId(2), ShuffleId(0)));
    if (rooms.back().bytes() == 0) break;
    wait_until([&] { return store_->stats().memory_bytes + store_->stats().reserved_bytes <= kRoomy; });
  }
  std::uint64_t sum = 0;
  for (const SegmentRoom& room : rooms) sum += room.bytes();
  EXPECT_GT(sum, 0u);
  EXPECT_LT(sum, kRoomy / 16);
}

TEST_F(StoreOrder, ASmallJobGetsNothingOfOtherSmallJobs) {
  constexpr std::uint64_t kRoomy = 8u << 20;
  store_ = open(kRoomy);
  for (std::uint64_t job = 1; job <= 16; ++job) put(job, 1, 522'000);
  EXPECT_EQ(store_->reserve(JobId(17), ShuffleId(0)).bytes(), 0u);
}

TEST_F(StoreTest, PrefersDiskWhenMemoryIsNearlyUsedUp) {
  auto store = open(1u << 20);
  EXPECT_FALSE(store->prefers_disk());
  ASSERT_TRUE(store->put(key(1, 0, 0), make_segment(std::string(1'000'000, 'x'))));
  EXPECT_TRUE(store->prefers_disk());
  ASSERT_TRUE(store->put(key(1, 0, 1), make_segment("on disk", SegmentWriter::on_disk(store->directory(), 2))));
  EXPECT_EQ(first_text(**store->get(key(1, 0, 1))), "on disk");
  EXPECT_GT(store->stats().disk_bytes, 0u);
}

TEST_F(StoreTest, SetsNoMoreAsideThanItsBudgetLeaves) {
  auto store = Store::open(dir_->path() / "store", 8u << 20, 2);
  ASSERT_TRUE(store);
  {
    const SegmentRoom first = (*store)->reserve(JobId(1), ShuffleId(0));
    EXPECT_EQ(first.bytes(), 2u << 20);  // a quarter: two writers, and half is kept for the segments after them
    std::vector<SegmentRoom> more;
    for (int i = 0; i < 100; ++i) more.push_back((*store)->reserve(JobId(1), ShuffleId(0)));
    EXPECT_LE((*store)->stats().reserved_bytes, 8u << 20);
    EXPECT_EQ(more.back().bytes(), 0u);
  }
  EXPECT_EQ((*store)->stats().reserved_bytes, 0u);
}

TEST_F(StoreTest, SetsAsideWhatSegmentsOfTheShuffleTook) {
  auto store = Store::open(dir_->path() / "store", 8u << 20, 2);
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->put(key(1, 0, 0), make_segment(std::string(3'000'000, 'x'))));
  const SegmentRoom likely = (*store)->reserve(JobId(1), ShuffleId(0));
  EXPECT_GE(likely.bytes(), 3'700'000u);
  EXPECT_EQ((*store)->reserve(JobId(1), ShuffleId(0)).bytes(), 0u) << "another one would not fit";
  EXPECT_GT((*store)->reserve(JobId(1), ShuffleId(1)).bytes(), 0u) << "nothing is known of this shuffle";
}

/// Those without a descriptor are read like the others, and nothing is written for them.
TEST_F(StoreTest, HoldsMoreSegmentsThanTheProcessMayOpenFiles) {
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // The store raises the soft limit, so the hard one has to go down as well; a root process gets it back afterwards.
  const rlimit hard{300, 300};
  if (::geteuid() != 0) GTEST_SKIP() << "restoring the hard limit needs root";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &hard), 0);
  {
    auto store = open(1u << 30);
    for (std::uint32_t map = 0; map < 1000; ++map)
      ASSERT_TRUE(store->put(key(1, 0, map), make_segment(std::string("m") + std::to_string(map)))) << map;
    std::size_t open_ones = 0;
    for (std::uint32_t map = 0; map < 1000; ++map) {
      auto segment = store->get(key(1, 0, map));
      ASSERT_TRUE(segment) << segment.error().to_string();
      ASSERT_EQ(first_text(**segment), std::string("m") + std::to_string(map));
      open_ones += (*segment)->fd() >= 0;
    }
    EXPECT_EQ(open_ones, 111u) << "three eighths of what the process may open";
    EXPECT_EQ(store->stats().disk_bytes, 0u);
    EXPECT_TRUE(std::filesystem::is_empty(dir_->path() / "store"));
  }
  ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(StoreTest, TheLargestSegmentsKeepTheirDescriptors) {
  auto store = Store::open(dir_->path() / "store", 1u << 30, 1, {.descriptors = 2}).value();
  for (const std::uint32_t map : {3u, 1u, 4u, 2u})
    ASSERT_TRUE(store->put(key(1, 0, map), make_segment(std::string(map * 1000, 'x'))));
  store->release(key(1, 0, 4));
  ASSERT_TRUE(store->put(key(1, 0, 5), make_segment(std::string(500, 'x'))));
  ASSERT_TRUE(store->put(key(1, 0, 6), make_segment(std::string(6000, 'x'))));
  for (const auto& [map, open] : {std::pair(1u, false), {2u, false}, {3u, true}, {5u, false}, {6u, true}})
    EXPECT_EQ(store->get(key(1, 0, map)).value()->fd() >= 0, open) << map;
}

TEST_F(StoreTest, SegmentsBeyondTheMappingsItMayHaveGoToFiles) {
  auto store = Store::open(dir_->path() / "store", 1u << 30, 1, {.mappings = 100}).value();
  for (std::uint32_t map = 0; map < 500; ++map)
    wait_until([&] { return store->put(key(1, 0, map), make_segment(std::string("m") + std::to_string(map))).has_value(); });
  for (std::uint32_t map = 0; map < 500; ++map) {
    auto segment = store->get(key(1, 0, map));
    ASSERT_TRUE(segment) << segment.error().to_string();
    ASSERT_EQ(first_text(**segment), std::string("m") + std::to_string(map));
  }
  EXPECT_GT(store->stats().disk_bytes, 0u);
  store.reset();
  EXPECT_TRUE(std::filesystem::is_empty(dir_->path() / "store"));
}

TEST_F(StoreTest, NeverSharesItsDirectoryAndRemovesLeftovers) {
  auto store = open(1 << 20);
  EXPECT_EQ(Store::open(dir_->path() / "store", 1).error().code(), Code::already_exists);
  store.reset();
  ASSERT_TRUE(write_file(dir_->path() / "store" / "weft-segment-7", "left behind"));
  ASSERT_TRUE(write_file(dir_->path() / "store" / "precious", "somebody else's"));
  store = open(1 << 20);
  EXPECT_FALSE(std::filesystem::exists(dir_->path() / "store" / "weft-segment-7"));
  EXPECT_TRUE(std::filesystem::exists(dir_->path() / "store" / "precious"));
}

TEST_F(StoreTest, RefusesWhenMemoryIsOverBudgetAndTheDiskIsFull) {
  ASSERT_TRUE(std::filesystem::create_directory(dir_->path() / "store"));
  if (::mount("tmpfs", (dir_->path() / "store").c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  {
    auto store = open(1u << 20);
    std::optional<Error> error;
    std::uint32_t map = 0;
    wait_until([&] {
      auto put = store->put(key(1, 0, map++), make_segment(std::string(200'000, 'x')));
      if (!put) error = put.error();
      return error.has_value();
    });
    EXPECT_EQ(error->code(), Code::resource_exhausted);
    EXPECT_TRUE(store->get(key(1, 0, 0)));
  }
  ::umount((dir_->path() / "store").c_str());
}

TEST_F(StoreTest, ServesManyThreads) {
  auto store = open(2u << 20);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&store, t] {
      for (std::uint32_t map = 0; map < 60; ++map) {
        EXPECT_TRUE(store->put(key(t, 0, map), make_segment(std::string(50'000, 'x') + std::to_string(map))));
        auto segment = store->get(key(t, 0, map / 2));
        ASSERT_TRUE(segment);
        EXPECT_EQ(first_text(**segment).substr(50'000), std::to_string(map / 2));
        if (map == 40) store->release(JobId(t + 100));
      }
      store->release(JobId(t));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store->stats().segments, 0u);
}

AttemptId attempt(std::uint32_t stage, std::uint32_t index) { return {{JobId(1), StageId(stage), index}, 0}; }

TEST_F(StoreTest, ATaskReadsAPartitionMapAfterMap) {
  auto store = open(1u << 30);
  auto outputs = std::make_shared<KnownOutputs>();
  const auto lookup = [&](ShuffleId, std::optional<std::uint32_t>) { return outputs; };
  for (std::uint32_t map = 0; map < 3; ++map) {
    LocalTaskShuffle task(*store, attempt(5, map), lookup);
    auto writer = task.create_segment(2);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->append(1, as_bytes(std::string("a") + std::to_string(map)), 1));
    ASSERT_TRUE((*writer)->append(0, as_bytes("no"), 1));
    ASSERT_TRUE((*writer)->append(1, as_bytes(std::string("b") + std::to_string(map)), 1));
    ASSERT_TRUE(task.commit(std::move(*(*writer)->seal())));
    outputs->put({map, 0, NodeId(0)});
  }
  LocalTaskShuffle reader(*store, attempt(6, 0), lookup);
  std::string read;
  const auto visit = [&](const Block& block) {
    read += as_chars(block.bytes);
    return Result<void>();
  };
  ASSERT_TRUE(reader.read(ShuffleId(5), {1, 2}, {}, visit));
  EXPECT_EQ(read, "a0b0a1b1a2b2");
  EXPECT_FALSE(reader.fetch_failure());
  EXPECT_EQ(reader.read(ShuffleId(5), {7, 8}, {}, visit).error().code(), Code::internal);

  outputs->put({3, 2, NodeId(9)});
  const auto lost = reader.read(ShuffleId(5), {1, 2}, {}, visit);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::unavailable);
  ASSERT_TRUE(reader.fetch_failure());
  EXPECT_EQ(reader.fetch_failure()->map, 3u);
  EXPECT_EQ(reader.fetch_failure()->map_attempt, 2u);
  EXPECT_EQ(reader.fetch_failure()->node, NodeId(9));
}

TEST_F(StoreTest, AVisitorsErrorEndsTheReadAndIsNoFetchFailure) {
  auto store = open(1u << 30);
  auto outputs = std::make_shared<KnownOutputs>();
  outputs->put({});
  ASSERT_TRUE(store->put(key(1, 5, 0), make_segment("x")));
  LocalTaskShuffle reader(*store, attempt(6, 0), [&](ShuffleId, std::optional<std::uint32_t>) { return outputs; });
  const auto ended =
      reader.read(ShuffleId(5), {0, 1}, {}, [](const Block&) -> Result<void> { return fail(Code::cancelled, "no"); });
  EXPECT_EQ(ended.error().code(), Code::cancelled);
  EXPECT_FALSE(reader.fetch_failure());
}

TEST_F(StoreTest, AReadThatFindsNoDescriptorIsNoFetchFailure) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs a descriptor to look at memory";
  auto store = Store::open((dir_->path() / "small").string(), 1u << 30, 1, {.descriptors = 0, .mappings = 4}).value();
  auto outputs = std::make_shared<KnownOutputs>();
  for (std::uint32_t map = 0; map < 8; ++map) {
    outputs->put({map, 0, NodeId(0)});
    ASSERT_TRUE(store->put(key(1, 5, map), make_segment("x")));
  }
  wait_until([&] {
    bool in_a_file = false;
    for (std::uint32_t map = 0; map < 8; ++map) in_a_file = in_a_file || (*store->get(key(1, 5, map)))->home() == SegmentHome::file;
    return in_a_file;
  });
  LocalTaskShuffle reader(*store, attempt(6, 0), [&](ShuffleId, std::optional<std::uint32_t>) { return outputs; });
  const auto visit = [](const Block&) { return Result<void>(); };
  {
    const test::NoDescriptors none;
    const auto read = reader.read(ShuffleId(5), {0, 1}, {}, visit);
    EXPECT_EQ(read ? Code::internal : read.error().code(), Code::resource_exhausted);
    EXPECT_FALSE(reader.fetch_failure());
  }
  EXPECT_TRUE(reader.read(ShuffleId(5), {0, 1}, {}, visit));
}

TEST_F(StoreTest, WhatCouldNotBeMovedToDiskIsMovedWhenThatIsPossibleAgain) {
  auto store = open(1u << 20);
  const std::string block(300'000, 'x');
  const auto directory = dir_->path() / "store", away = dir_->path() / "away";
  std::filesystem::rename(directory, away);
  std::uint32_t map = 0;
  Result<void> put;
  while (put && map < 200) put = store->put(key(1, 0, map++), make_segment(block));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), Code::resource_exhausted) << put.error().to_string();
  std::filesystem::rename(away, directory);
  put = store->put(key(1, 0, map), make_segment(block));
  EXPECT_TRUE(put) << put.error().to_string();
}

TEST_F(StoreTest, AllOfItsBudgetMayBeReservedAndNotAByteMore) {
  auto store = open(1u << 20);
  EXPECT_EQ(store->reserve_exactly(JobId(1), (1u << 20) + 1).bytes(), 0u);
  const SegmentRoom all = store->reserve_exactly(JobId(1), 1u << 20);
  EXPECT_EQ(all.bytes(), 1u << 20);
  EXPECT_EQ(store->reserve_exactly(JobId(1), 1).bytes(), 0u);
}

TEST_F(StoreTest, TriesTheDiskAgainOnceThereIsRoom) {
  const std::string place = dir_->path() / "store";
  ASSERT_TRUE(std::filesystem::create_directory(place));
  if (::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=64k") != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  {
    auto store = open(1u << 20);
    std::uint32_t map = 0;
    wait_until([&] { return !store->put(key(1, 0, map++), make_segment(std::string(200'000, 'x'))); });
    ASSERT_EQ(::mount("tmpfs", place.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
    ASSERT_TRUE(store->put(key(1, 0, 1000), make_segment("on disk", SegmentWriter::on_disk(place, 2))));
    wait_until([&] { return store->stats().memory_bytes <= 1u << 20; });
    EXPECT_GT(store->stats().evicted_bytes, 0u);
  }
  ::umount(place.c_str());
}

/// Outputs are released, and committed again under their old key, while they are moved to disk.
TEST_F(StoreTest, WhatIsReleasedWhileItIsMovedLeavesNothingAndWhatReplacesItStays) {
  {
    auto store = Store::open(dir_->path() / "store", 1u << 30, 1, {.mappings = 150}).value();  // segments beyond them get names
    const auto put = [&](std::uint32_t map, const std::string& text) {
      wait_until([&] {
        auto writer = SegmentWriter::in_memory(2);
        return writer && store->put(key(1, 0, map), make_segment(text, std::move(writer)));
      });
    };
    const std::string filler(20'000, 'f');
    for (std::uint32_t round = 0; round < 8; ++round) {
      for (std::uint32_t map = 0; map < 170; ++map) put(map, "old" + filler);
      for (std::uint32_t map = 169; map >= 130; --map) {
        store->release(key(1, 0, map));
        put(map, "new" + filler);
      }
      for (std::uint32_t map = 130; map < 170; ++map) {
        const auto segment = store->get(key(1, 0, map));
        ASSERT_TRUE(segment) << segment.error().to_string();
        ASSERT_EQ(first_text(**segment).substr(0, 3), "new") << map;
      }
      store->release(JobId(1));
    }
    const auto empty = [&] { return std::filesystem::is_empty(dir_->path() / "store"); };
    wait_until(empty);
    EXPECT_EQ(store->stats().disk_bytes + store->stats().memory_bytes, 0u);
  }
}

}  // namespace
}  // namespace weft::shuffle

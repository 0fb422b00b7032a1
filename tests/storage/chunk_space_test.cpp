// A chunk store whose disks are full, or nearly.
#include <csignal>
#include <filesystem>

#include <sys/mount.h>
#include <sys/resource.h>

#include "storage/chunks/chunk_store.hpp"
#include "tests/storage/chunk_fixture.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

TEST_F(ChunkStoreTest, KeepsTheReserveFree) {
  auto options = quiet_options(one());
  options.reserve = std::uint64_t{1} << 60;
  auto store = open_store(options);
  const auto refused = store->create(ChunkId(1), 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::resource_exhausted);
  EXPECT_EQ(store->space()[0].available, 0u);
}

/// Whoever says that a chunk becomes long has not written it.
TEST_F(ChunkStoreTest, ALongChunkReservesNoMoreThanItsWriterMay) {
  auto store = open_store(quiet_options(one()));
  const std::uint64_t room = store->space()[0].available;
  constexpr std::uint64_t kMost = 1u << 20;
  ASSERT_GT(room, std::uint64_t{2} << 30);
  const auto appender = store->create(ChunkId(1), std::uint64_t{1} << 30, kMost);
  ASSERT_TRUE(appender);
  EXPECT_GT(store->space()[0].available, room - (std::uint64_t{512} << 20));
}

TEST_F(ChunkStoreTest, SurvivesAFullDisk) {
  fs::create_directories(scratch_ / "small");
  if (::mount("none", (scratch_ / "small").c_str(), "tmpfs", 0, "size=12m") != 0) GTEST_SKIP() << "cannot mount";
  {
    auto options = quiet_options({scratch_ / "small/a"}, events_.listener());
    options.reserve = 1u << 20;
    auto store = open_store(options);
    ASSERT_NE(store, nullptr);
    std::uint64_t id = 0;
    Code full = Code::internal;
    while (full == Code::internal && id < 100) {
      auto appender = store->create(ChunkId(++id), 1);  // announces too little, so the space ends in the middle
      if (!appender) {
        full = appender.error().code();
        break;
      }
      const std::string content = content_of(id, 1u << 20);
      for (int piece = 0; piece < 3 && full == Code::internal; ++piece)
        if (const auto put = (*appender)->append(as_bytes(content)); !put) full = put.error().code();
      if (full == Code::internal && !(*appender)->seal()) full = Code::io;
    }
    EXPECT_EQ(full, Code::resource_exhausted);
    EXPECT_GE(store->list().size(), 2u);
    EXPECT_FALSE(store->space()[0].failure);  // full is not broken
    EXPECT_GE(fs::space(scratch_ / "small").available, 1u << 20);
    store->erase(std::array{ChunkId(1)});
    put_chunk(*store, ChunkId(200), content_of(200, 1u << 20));
  }
  EXPECT_EQ(::umount((scratch_ / "small").c_str()), 0);
}

TEST_F(ChunkStoreTest, ADirectoryThatJoinsLaterSaysSo) {
  put_chunk(*open_store(quiet_options(one())), ChunkId(1), content_of(1, 1000));
  int joined = 0;
  auto options = quiet_options(one(), events_.listener());
  options.joined = [&joined] { ++joined; };
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};  // short of descriptors it is as if the disk were full
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto store = open_store(options);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->list().empty());
  EXPECT_EQ(joined, 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(store->space().at(0).chunks, 1u);
  EXPECT_EQ(joined, 1);
}

TEST_F(ChunkStoreTest, SurvivesAFileSizeLimit) {
  auto store = open_store(quiet_options(one()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1u << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    auto appender = store->create(ChunkId(1));
    const auto put = (*appender)->append(as_bytes(content_of(1, 2u << 20)));
    EXPECT_EQ(put ? Code::internal : put.error().code(), Code::resource_exhausted);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
  expect_content(*store, put_chunk(*store, ChunkId(1), content_of(1, 2u << 20)));
}

/// What comes after the bytes that found no room is there already: it is sent without waiting.
TEST_F(ChunkStoreTest, AChunkWithBytesMissingIsNeverSealed) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const std::string content = content_of(1, 2u << 20);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const bool more : {false, true}) {
    SCOPED_TRACE(more);
    auto appender = store->create(ChunkId(1));
    ASSERT_TRUE(appender);
    const rlimit small{1u << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto put = (*appender)->append(as_bytes(content));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);  // there is room again
    EXPECT_EQ(put ? Code::internal : put.error().code(), Code::resource_exhausted);
    if (more) {
      EXPECT_EQ((*appender)->append(as_bytes("x")).error().code(), Code::resource_exhausted);
    }
    const auto sealed = (*appender)->seal();
    ASSERT_FALSE(sealed);
    EXPECT_EQ(sealed.error().code(), Code::resource_exhausted);
    EXPECT_TRUE(store->list().empty());
    EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
  }
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(events_.of(ChunkEvent::sealed).empty());
  expect_content(*store, put_chunk(*store, ChunkId(1), content));
}

TEST_F(ChunkStoreTest, TellsHowMuchRoomThereIs) {
  auto store = open_store(quiet_options(one()));
  put_chunk(*store, ChunkId(1), content_of(1, 70'000));
  put_chunk(*store, ChunkId(2), content_of(2, 30'000));
  auto space = store->space();
  ASSERT_EQ(space.size(), 1u);
  EXPECT_EQ(space[0].used, 100'000u);
  EXPECT_EQ(space[0].chunks, 2u);
  EXPECT_GT(space[0].capacity, space[0].available);
  store->erase(std::array{ChunkId(1), ChunkId(7)});
  EXPECT_EQ(store->space()[0].used, 30'000u);
  const std::uint64_t room = store->space()[0].available, most = std::min<std::uint64_t>(room / 2, 8ULL << 30);
  auto appender = store->create(ChunkId(3), most);
  ASSERT_TRUE(appender);
  EXPECT_LT(store->space()[0].available, room - most / 2);  // announced room counts as taken
  auto next = std::move(appender);
  std::vector<std::unique_ptr<ChunkAppender>> all;
  for (std::uint64_t id = 4; next; ++id) {
    ASSERT_LT(id, 6 + room / most);
    all.push_back(std::move(*next));
    next = store->create(ChunkId(id), most);
  }
  EXPECT_EQ(next.error().code(), Code::resource_exhausted);
}

/// What comes with an owner is written together with what follows.
TEST_F(ChunkStoreTest, BytesThatAreWrittenLaterAndFindNoRoomAreAnErrorByTheSealAtTheLatest) {
  auto store = open_store(quiet_options(one(), events_.listener()));
  const auto content = std::make_shared<const std::string>(content_of(1, 3u << 19));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1u << 20, before.rlim_max};
  auto appender = store->create(ChunkId(1));
  ASSERT_TRUE(appender);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_TRUE((*appender)->append(as_bytes(*content), content));
  const auto sealed = (*appender)->seal();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(sealed);
  EXPECT_EQ(sealed.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(store->list().empty());
  EXPECT_TRUE(test::entries(scratch_ / "a/unsealed").empty());
}

}  // namespace
}  // namespace weft::storage

// Databases on disks that are full, or give errors: at any moment of an opening, a write, a flush or a compaction. On Debian
// RocksDB aborts the process when one of its own files cannot be written.
#include "storage/rocks.hpp"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "storage/rocks_log.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;
using Records = std::map<std::string, std::string>;

class RocksStores : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  static rocksdb::Options options() {
    rocksdb::Options made = store_options();
    made.create_if_missing = true;
    made.write_buffer_size = 64u << 10;
    made.allow_fallocate = false;
    return made;
  }
  rocksdb::Status open() { return RocksStore::open(options(), path, store); }
  /// True when it was acknowledged; then it is in `acknowledged`, too.
  bool put(const std::string& key, const std::string& value) {
    rocksdb::WriteBatch batch;
    batch.Put(key, value);
    rocksdb::WriteOptions durable;
    durable.sync = true;
    const bool written = store->write(durable, batch).ok();
    tried[key].push_back(value);
    if (written) acknowledged[key] = value;
    return written;
  }
  /// All that was acknowledged, unless something was tried since, which may be there.
  void expect_all() {
    const auto db = store->db();
    for (const auto& [key, value] : acknowledged) {
      std::string found;
      ASSERT_TRUE(db->Get({}, key, &found).ok()) << key;
      const auto& values = tried.at(key);
      const auto from = std::find(values.rbegin(), values.rend(), value).base() - 1;
      EXPECT_NE(std::find(from, values.end(), found), values.end()) << key << " went back";
    }
  }
  bool reopens() {
    return test::eventually([&] { return store->reopen().ok(); });
  }
  static std::string large(int i) { return std::string(20'000, static_cast<char>('a' + i % 26)); }

  test::ScratchDirectory scratch;
  test::SmallDisk disk{scratch / "disk", 24};
  const std::string path = scratch / "disk/db";
  std::unique_ptr<RocksStore> store;
  Records acknowledged;
  std::map<std::string, std::vector<std::string>> tried;
};

TEST_F(RocksStores, OnADiskThatBecomesFullAreReadAndTakeWritesAgainWhenThereIsRoom) {
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(put("a", "1"));
  disk.fill(256u << 10);
  int written = 0;
  while (written < 1000 && put("k" + std::to_string(written), large(written))) ++written;
  ASSERT_LT(written, 1000);
  EXPECT_TRUE(store->writable().IsNoSpace()) << store->writable().ToString();
  EXPECT_EQ(code_of(store->writable()), Code::resource_exhausted);
  EXPECT_EQ(words_of(store->writable()).find("its disk is full; make room there, and it goes on by itself (IO error: No space"), 0u)
      << words_of(store->writable());
  EXPECT_FALSE(put("b", "2"));
  EXPECT_FALSE(store->reopen().ok()) << "there is no room";
  expect_all();
  disk.clear();
  ASSERT_TRUE(reopens());
  expect_all();
  EXPECT_TRUE(put("a", "3"));
  store.reset();
  ASSERT_TRUE(open().ok());
  EXPECT_TRUE(store->writable().ok());
  expect_all();
}

TEST_F(RocksStores, OpenedOnAFullDiskAreRead) {
  ASSERT_TRUE(open().ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(put("k" + std::to_string(i), large(i)));
  store.reset();
  disk.fill();
  ASSERT_TRUE(open().ok());
  EXPECT_TRUE(store->writable().IsNoSpace());
  expect_all();
  EXPECT_FALSE(put("a", "1"));
  const auto before = store->db();  // somebody still reads
  const std::unique_ptr<rocksdb::Iterator> at(before->NewIterator({}));
  at->SeekToFirst();
  disk.clear();
  ASSERT_TRUE(reopens());
  EXPECT_TRUE(put("a", "2"));
  std::size_t seen = 0;
  for (; at->Valid(); at->Next()) ++seen;
  EXPECT_EQ(seen, 20u);
  expect_all();
}

TEST_F(RocksStores, ThatNeverWereAreNotMadeOnAFullDiskAndLeaveNothingBehind) {
  fs::create_directories(path);
  disk.fill();
  EXPECT_TRUE(open().IsNoSpace());
  disk.clear();
  ASSERT_TRUE(open().ok());
  EXPECT_TRUE(put("a", "1"));
}

/// Whatever it is that the disk refuses first: a log, a table, a manifest, the file that names it, or the options.
TEST_F(RocksStores, LoseNothingWhereverTheRoomEnds) {
  for (std::uint64_t room = 0; room < 160u << 10; room += 8192) {
    SCOPED_TRACE("room for " + std::to_string(room) + " bytes");
    store.reset();
    ASSERT_TRUE(open().ok());
    ASSERT_TRUE(put("first", std::to_string(room)));
    disk.fill(room);
    if (room % 16384 == 0) {
      store.reset();
      ASSERT_TRUE(open().ok()) << "to be read at least";
      expect_all();
    }
    for (int i = 0; i < 12; ++i) put("k" + std::to_string(i), large(i + static_cast<int>(room >> 12)));
    store->flush().PermitUncheckedError();
    store->compact({}).PermitUncheckedError();
    put("last", std::to_string(room));
    expect_all();
    disk.clear();
    if (!store->writable().ok()) {
      ASSERT_TRUE(reopens());
    }
    expect_all();
    ASSERT_TRUE(put("after", std::to_string(room)));
    ASSERT_TRUE(store->flush().ok());
  }
}

TEST_F(RocksStores, TryAgainAndAgainWithoutUsingUpTheRoomThatIsLeft) {
  ASSERT_TRUE(open().ok());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(put("k" + std::to_string(i % 3), large(i)));
  store.reset();
  disk.fill(8192);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(open().ok());
    EXPECT_TRUE(store->writable().IsNoSpace());
    store.reset();
  }
  EXPECT_GE(disk.free(), 4096u);
  disk.clear();
  ASSERT_TRUE(open().ok());
  expect_all();
}

TEST_F(RocksStores, AreOpenOnce) {
  ASSERT_TRUE(open().ok());
  std::unique_ptr<RocksStore> second;
  const auto refused = RocksStore::open(options(), path, second);
  EXPECT_TRUE(refused.IsBusy()) << refused.ToString();
  EXPECT_EQ(code_of(refused), Code::already_exists);
  store.reset();
  EXPECT_TRUE(RocksStore::open(options(), path, second).ok());
}

TEST_F(RocksStores, OtherErrorsOfTheDiskEndTheWritesToo) {
  ASSERT_TRUE(open().ok());
  ASSERT_TRUE(put("a", "1"));
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_FALSE(put("b", large(1)));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(store->writable().IsNoSpace()) << "the disk is not full";
  EXPECT_FALSE(put("c", "1"));
  expect_all();
  ASSERT_TRUE(reopens());
  EXPECT_TRUE(put("c", "2"));
  expect_all();
}

class RocksLogs : public RocksStores {
 protected:
  static void say(RocksLog& log, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    log.Logv(rocksdb::InfoLogLevel::ERROR_LEVEL, format, arguments);
    va_end(arguments);
  }
};

TEST_F(RocksLogs, AreBoundedAndKeepTheLatest) {
  RocksLog log(disk.path());
  const std::string text(1000, 'x');
  for (int i = 0; i < 4000; ++i) say(log, "%d %s", i, text.c_str());
  EXPECT_LE(fs::file_size(disk.path() + "/LOG"), RocksLog::kMostBytes + 4096);
  EXPECT_LE(fs::file_size(disk.path() + "/LOG.old"), RocksLog::kMostBytes + 4096);
  EXPECT_NE(test::read_file(disk.path() + "/LOG").find("Z [ERROR] 3999 x"), std::string::npos);
}

TEST_F(RocksLogs, DropWhatTheyCannotWriteAndSaySo) {
  RocksLog log(disk.path());
  disk.fill();
  for (int i = 0; i < 10; ++i) say(log, "line %d %s", i, std::string(1500, 'x').c_str());
  disk.clear();
  say(log, "there is room");
  EXPECT_NE(test::read_file(disk.path() + "/LOG").find("lines could not be written"), std::string::npos);
}

}  // namespace
}  // namespace weft::storage

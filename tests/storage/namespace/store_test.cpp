#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "storage/namespace/namespace_store.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NamespaceStoreTest : public testing::Test {
 protected:
  std::string path() const { return (scratch.path() / "namespace").string(); }
  std::unique_ptr<NamespaceStore> open() {
    auto store = NamespaceStore::open(path());
    EXPECT_TRUE(store) << store.error().to_string();
    return store ? std::move(*store) : nullptr;
  }
  Error refusal() {
    auto store = NamespaceStore::open(path());
    if (!store) return store.error();
    Namespace ns;
    auto loaded = (*store)->load(ns, Time(0), 0);
    return loaded ? Error(Code::internal, "accepted") : loaded.error();
  }
  /// A namespace of some directories, told to the store in many commits; the store is closed when all are on disk.
  std::string fill(int count) {
    const auto store = open();
    Namespace ns;
    EXPECT_TRUE(store->load(ns, Time(0), 0));
    std::mutex mutex;
    std::condition_variable all;
    int done = 0;
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(ns.make_directory("/d" + std::to_string(i), "ann", false, i));
      store->commit(ns.take_changes(), [&, i](Result<void> written) {
        EXPECT_TRUE(written);
        const std::lock_guard lock(mutex);
        EXPECT_EQ(done, i) << "in order";
        ++done;
        all.notify_one();
      });
    }
    std::unique_lock lock(mutex);
    all.wait(lock, [&] { return done == count; });
    return describe(ns);
  }

  TempDir scratch = std::move(TempDir::create().value());
};

TEST_F(NamespaceStoreTest, KeepsWhatWasCommitted) {
  const std::string before = fill(500);
  const auto store = open();
  const std::string id = store->cluster_id();
  EXPECT_EQ(id.size(), 32u);
  Namespace ns;
  ASSERT_TRUE(store->load(ns, Time(0), 0));
  EXPECT_EQ(describe(ns), before);
}

TEST_F(NamespaceStoreTest, KeepsHowLongHoldersOfLeasesAreSilent) {
  using std::chrono::seconds;
  {
    const auto store = open();
    Namespace ns;
    ASSERT_TRUE(store->load(ns, seconds(0), 0));
    ASSERT_TRUE(ns.create("/f", "ann", {}, seconds(0)));
    for (int now = 5; now <= 55; now += 5) ns.tick(seconds(now));
    std::vector<Change> changes = ns.take_changes();
    changes.push_back({std::string(kTableLeaseTimes) + "1", "x"});
    changes.push_back({"tx", "y"});
    store->commit(std::move(changes), [](Result<void> written) { EXPECT_TRUE(written); });
  }
  const auto store = open();
  Namespace ns;
  ASSERT_TRUE(store->load(ns, seconds(0), 0));
  EXPECT_EQ(ns.report().open_files, 1u);
  for (int now = 5; now <= 25; now += 5) ns.tick(seconds(now));
  EXPECT_EQ(ns.report().open_files, 0u) << "most of its 60 seconds were over";
  std::string of_tables;
  ASSERT_TRUE(store->load_tables([&](std::string_view key, std::string_view value) {
    of_tables += fmt::format("{}={} ", key, value);
    return Result<void>();
  }));
  EXPECT_EQ(of_tables, "!lt1=x tx=y ");
}

TEST_F(NamespaceStoreTest, OnAFullDiskCommitsWaitUntilThereIsRoomAndNoneIsLost) {
  test::SmallDisk disk((scratch.path() / "namespace").string(), 40);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  fill(10);
  disk.fill();
  auto store = open();
  ASSERT_NE(store, nullptr);
  Namespace ns;
  ASSERT_TRUE(store->load(ns, Time(0), 0));
  ASSERT_TRUE(store->full());
  EXPECT_EQ(store->full()->code(), Code::resource_exhausted);
  EXPECT_TRUE(has(store->full()->to_string(), "its disk is full; make room there, and it goes on by itself"));
  std::atomic<int> done{0};
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(ns.make_directory("/e" + std::to_string(i), "ann", false, i));
    store->commit(ns.take_changes(), [&](Result<void> written) { done += written ? 1 : 1000; });
  }
  EXPECT_EQ(done, 0);
  disk.clear();
  EXPECT_TRUE(test::eventually([&] { return done == 50 && !store->full(); })) << done;
  store.reset();
  store = open();
  Namespace again;
  ASSERT_TRUE(store->load(again, Time(0), 0));
  EXPECT_EQ(describe(again), describe(ns));
}

TEST_F(NamespaceStoreTest, TheClusterKeepsItsId) {
  const std::string id = open()->cluster_id();
  EXPECT_EQ(open()->cluster_id(), id);
}

TEST_F(NamespaceStoreTest, KeepsThatThereIsAJournal) {
  {
    const auto store = open();
    EXPECT_FALSE(store->has_journal());
    store->commit({NamespaceStore::journal_note()}, [](const Result<void>& written) { EXPECT_TRUE(written); });
  }
  EXPECT_TRUE(open()->has_journal());
  EXPECT_EQ(refusal().to_string(), "accepted") << "it is no record of a file";
}

TEST_F(NamespaceStoreTest, ASecondMasterIsRefused) {
  const auto first = open();
  const Error error = refusal();
  EXPECT_EQ(error.code(), Code::already_exists) << error.to_string();
  EXPECT_TRUE(has(error.to_string(), "another master"));
}

TEST_F(NamespaceStoreTest, AnotherVersionOrSomethingElseIsRefusedAndUntouched) {
  fs::create_directories(path());
  std::ofstream(path() + "/letter.txt") << "Dear Ann";
  Error error = refusal();
  EXPECT_EQ(error.code(), Code::version_mismatch) << error.to_string();
  EXPECT_TRUE(has(error.to_string(), "letter.txt"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path()), {}), 1);
}

TEST_F(NamespaceStoreTest, DamageIsAnErrorThatNamesTheDirectory) {
  fill(500);
  for (const auto& entry : fs::directory_iterator(path())) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("MANIFEST")) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file << "damage";
  }
  const Error error = refusal();
  EXPECT_EQ(error.code(), Code::corrupt) << error.to_string();
  EXPECT_TRUE(has(error.to_string(), path()));
  fs::remove(path() + "/CURRENT");
  EXPECT_EQ(refusal().code(), Code::corrupt);
}

TEST_F(NamespaceStoreTest, ThatWasCopiedInPartIsRefusedWithWhatToDo) {
  fill(500);
  open();  // writes the log of the last one into a table
  const auto without = [this](const std::string& beginning, const std::string& end) {
    std::vector<std::pair<fs::path, fs::path>> moved;
    for (const auto& entry : fs::directory_iterator(path()))
      if (const std::string name = entry.path().filename(); name.starts_with(beginning) && name.ends_with(end))
        moved.emplace_back(entry.path(), fs::path(path() + ".away-" + name));
    EXPECT_FALSE(moved.empty());
    for (const auto& [from, to] : moved) fs::rename(from, to);
    const std::string said = refusal().to_string();
    for (const auto& [from, to] : moved) fs::rename(to, from);
    return said;
  };
  EXPECT_TRUE(has(without("CURRENT", ""), "is incomplete: its file CURRENT is missing, so it was copied in part; copy it again"));
  for (const auto& [beginning, end] : {std::pair("MANIFEST", ""), std::pair("", ".sst")}) {
    const std::string said = without(beginning, end);
    EXPECT_TRUE(has(said, "a file of it is missing, so it was copied in part: copy it again")) << said;
    EXPECT_FALSE(has(said, "Corruption: Corruption")) << said;
  }
  fs::remove(path() + "/CURRENT");
  for (const auto& entry : fs::directory_iterator(path()))
    if (!entry.path().filename().string().starts_with("OPTIONS-")) fs::remove(entry.path());
  EXPECT_TRUE(has(refusal().to_string(), "is incomplete: its file CURRENT is missing"));
}

TEST_F(NamespaceStoreTest, EveryFlippedByteOfATableIsNoticedOrHarmless) {
  const std::string before = fill(2000);
  open();  // writes the log of the last one into a table
  std::vector<fs::path> tables;
  for (const auto& entry : fs::directory_iterator(path()))
    if (entry.path().extension() == ".sst") tables.push_back(entry.path());
  ASSERT_FALSE(tables.empty());
  const std::string content = read_file(tables[0]).value();
  for (std::size_t at = 7; at < content.size(); at += content.size() / 50) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    std::ofstream(tables[0], std::ios::binary) << damaged;
    auto store = NamespaceStore::open(path());
    Namespace ns;
    const Result<void> loaded = store ? (*store)->load(ns, Time(0), 0) : Result<void>(fail(store.error()));
    if (loaded) {
      EXPECT_EQ(describe(ns), before) << "byte " << at;
    } else {
      EXPECT_EQ(loaded.error().code(), Code::corrupt) << loaded.error().to_string();
    }
  }
}

}  // namespace
}  // namespace weft::storage

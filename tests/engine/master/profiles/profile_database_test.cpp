// The store of profiles on disk: what is put is there for the next master, and what cannot be read is set aside.
#include "engine/master/profiles/profile_database.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "base/sanitized.hpp"
#include "engine/master/profiles/record.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

namespace fs = std::filesystem;

class ProfileDatabases : public testing::Test {
 protected:
  /// Opens the store; what it holds is in `records`.
  std::unique_ptr<ProfileStore> open(bool refuse = false) {
    records.clear();
    bool again = false;
    auto store = profile_database(path)([&, refuse](ProfileRecords read) -> Result<void> {
      if (refuse && !std::exchange(again, true)) return fail(Code::corrupt, "no profile");
      records = std::move(read);
      return {};
    });
    error = store ? std::nullopt : std::optional(store.error());
    return store ? std::move(*store) : nullptr;
  }
  /// While the store writes and deletes files, too: what is gone when it is asked counts nothing.
  std::uint64_t bytes_on_disk() const {
    std::uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(path)) {
      std::error_code gone;
      const std::uint64_t bytes = entry.file_size(gone);
      sum += gone ? 0 : bytes;
    }
    return sum;
  }

  test::ScratchDirectory files;
  std::string path = files / "profiles";
  ProfileRecords records;
  std::optional<Error> error;  // of the last open()
};

TEST_F(ProfileDatabases, KeepWhatWasPutLast) {
  {
    const auto store = open();
    ASSERT_TRUE(store);
    EXPECT_TRUE(records.empty());
    store->put({{"a", "1"}, {"b", "2"}});
    store->put({{"a", std::nullopt}, {"b", "3"}, {"c", "4"}});
  }
  ASSERT_TRUE(open());
  EXPECT_EQ(records, (ProfileRecords{{"b", "3"}, {"c", "4"}}));
}

TEST_F(ProfileDatabases, ThatAreDamagedOrRefusedAreSetAside) {
  open()->put({{"a", "1"}});
  fs::path manifest;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().filename().string().starts_with("MANIFEST")) manifest = entry.path();
  ASSERT_TRUE(write_file(manifest, "nothing\n"));
  ASSERT_TRUE(open()) << "once more";
  EXPECT_TRUE(records.empty());
  EXPECT_TRUE(fs::exists(path + ".damaged-1"));
  open()->put({{"a", "1"}});
  ASSERT_TRUE(open(true));
  EXPECT_TRUE(records.empty());
  EXPECT_TRUE(fs::exists(path + ".damaged-2"));
}

TEST_F(ProfileDatabases, ThatCannotBeAreNone) {
  ASSERT_TRUE(write_file(files / "file", "x"));
  path = files / "file" + "/below";
  EXPECT_FALSE(open());
  EXPECT_FALSE(error) << "without them, a master does its work";
  path = files / "held";
  const auto first = open();
  ASSERT_TRUE(first);
  EXPECT_FALSE(open()) << "another master has it";
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::unavailable);
  EXPECT_EQ(error->to_string(), "--profiles: the directory " + path +
                                    " is in use by another master that runs; end that one, or name another directory");
  EXPECT_FALSE(fs::exists(path + ".damaged-1")) << "it is not damaged";
}

TEST_F(ProfileDatabases, ThatFindNoDescriptorsAreLeftAsTheyAre) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  open()->put({{"a", "1"}});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  ::close(next);
  const rlimit few{static_cast<rlim_t>(next) + 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto refused = open();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(refused);
  EXPECT_FALSE(fs::exists(path + ".damaged-1")) << "it is not damaged";
  ASSERT_TRUE(open());
  EXPECT_EQ(records, (ProfileRecords{{"a", "1"}}));
}

TEST_F(ProfileDatabases, ThatCannotBeWrittenEndInPeaceAndKeepWhatTheyHad) {
  const auto over_full_disk = [this] {
    auto store = open();
    rlimit full{};
    ::getrlimit(RLIMIT_FSIZE, &full);
    full.rlim_cur = 4096;
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &full);
    store->put({{"b", std::string(1u << 20, 'x')}});
    store->put({{"c", "3"}});
    store.reset();
    std::_Exit(7);
  };
  open()->put({{"a", "1"}});
  EXPECT_EXIT(over_full_disk(), testing::ExitedWithCode(7), "what is learned from now on is lost with this master");
  ASSERT_TRUE(open());
  EXPECT_EQ(records, (ProfileRecords{{"a", "1"}}));
}

TEST_F(ProfileDatabases, OnAFullDiskAreReadAndWrittenAgainWhenThereIsRoom) {
  test::SmallDisk disk(files / "disk", 16);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  path = disk.path() + "/profiles";
  open()->put({{"a", "1"}});
  disk.fill();
  auto store = open();
  ASSERT_TRUE(store);
  EXPECT_EQ(records, (ProfileRecords{{"a", "1"}}));
  for (int i = 0; i < 3; ++i) store->put({{"b", std::string(100'000, static_cast<char>('1' + i))}, {"c" + std::to_string(i), "x"}});
  disk.clear();
  store->put({{"a", "2"}});
  const auto size = [&] {
    std::uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(path)) sum += entry.path().extension() == ".log" ? entry.file_size() : 0;
    return sum;
  };
  ASSERT_TRUE(test::eventually([&] { return size() > 100'000; }));
  store.reset();
  ASSERT_TRUE(open());
  EXPECT_EQ(records, (ProfileRecords{{"a", "2"}, {"b", std::string(100'000, '3')}, {"c0", "x"}, {"c1", "x"}, {"c2", "x"}}));
}

TEST_F(ProfileDatabases, OfTenThousandStagesTakeAtMostTwentyMegabytes) {
  auto store = open();
  ASSERT_TRUE(store);
  Random random(7);
  std::map<std::string, std::optional<std::string>> all;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    profiles::StageHistory stage;
    stage.is = {"reduce_by_key (program.cpp:" + std::to_string(i) + ")", random.below(UINT64_MAX), i % 2 == 0};
    for (int task = 0; task < 40; ++task) {
      profiles::TaskSample one;
      one.duration = Duration(1'000'000 * static_cast<std::int64_t>(1 + random.below(4000)));
      one.bytes = static_cast<double>(random.below(3u << 20));
      one.written = static_cast<double>(random.below(1u << 20));
      one.cpu = one.duration / 2;
      stage.add(JobId(static_cast<std::uint64_t>(1 + task / 20)), one, one.duration);
    }
    const profiles::StageKey key{"program-" + std::to_string(i / 10), StageId(i % 10)};
    all["p" + std::to_string(i)] = profiles::to_json(key, stage);
  }
  store->put(all);
  EXPECT_TRUE(test::eventually([&] { return bytes_on_disk() > 4u << 20; }));
  std::uint64_t most = 0;
  for (int round = 0; round < 10; ++round) {
    store->put(all);
    for (int look = 0; look < 40; ++look) {
      most = std::max(most, bytes_on_disk());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  EXPECT_LE(most, 20u << 20) << "at any time, while what is replaced is merged";
  store.reset();
  ASSERT_TRUE(open());
  const auto alike = [](const auto& read, const auto& put) { return read.first == put.first && read.second == put.second; };
  EXPECT_TRUE(std::ranges::equal(records, all, alike)) << "what was put in many batches is there whole";
}

}  // namespace
}  // namespace weft::master

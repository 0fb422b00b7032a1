// The disk of a given rate that benchmarks preload: who waits for it, and how long at least.
#include <chrono>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kRate = 10'000'000, kBytes = 20 * 65'536;
constexpr std::chrono::nanoseconds kWritten{kBytes * 1'000'000'000 / kRate};

class SlowDiskTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime wants to be loaded first";
  }
  /// How long dd took to write kBytes to this file of the scratch directory, in the way that the words say.
  std::chrono::nanoseconds write(const std::string& file, std::uint64_t cache, std::vector<std::string> words = {},
                                 const std::string& seek = "") {
    std::vector<std::string> command{"dd", "if=/dev/zero", "of=" + scratch_ / file, "bs=65536", "count=20"};
    command.insert(command.end(), words.begin(), words.end());
    const std::string setting =
        std::to_string(kRate) + " " + std::to_string(cache) + " " + scratch_ / "state" + " " + scratch_ / "disk-" + " " + seek;
    const auto began = std::chrono::steady_clock::now();
    const auto result = test::run(command, {.environment = {{"LD_PRELOAD", WEFT_SLOW_DISK_LIBRARY}, {"WEFT_SLOW_DISK", setting}}});
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(test::read_file(scratch_ / file), std::string(kBytes, '\0'));
    return took;
  }
  /// When all that was written is on the disk, on the clock of CLOCK_MONOTONIC; 0: nothing was.
  std::chrono::nanoseconds idle_at() const {
    std::int64_t at = 0;
    const std::string state = test::read_file(scratch_ / "state");
    EXPECT_EQ(state.size(), 2 * sizeof at);
    std::memcpy(&at, state.data(), std::min(state.size(), sizeof at));
    return std::chrono::nanoseconds(at);
  }
  test::ScratchDirectory scratch_;
};

TEST_F(SlowDiskTest, WritersWaitForWhatThePageCacheDoesNotHold) {
  EXPECT_GE(write("disk-1", 0), kWritten);
  EXPECT_GE(write("disk-1", kBytes / 2), kWritten / 2);
}

TEST_F(SlowDiskTest, ItsHeadTakesTimeFromOneFileToAnother) {
  const auto taken = [&](const std::string& file) {
    const auto before = idle_at();
    write(file, 1u << 30, {"conv=notrunc"}, "500000");
    return idle_at() - before;
  };
  write("disk-1", 1u << 30);
  EXPECT_GE(taken("disk-2"), kWritten + 500ms);
  EXPECT_GE(taken("disk-1"), kWritten + 500ms);
  const auto again = taken("disk-1");
  EXPECT_GE(again, kWritten);
  EXPECT_LT(again, kWritten + 500ms) << "one file after the other, and no call of its own for each piece";
}

TEST_F(SlowDiskTest, ProcessesShareItAndSyncsWaitForAll) {
  write("disk-1", 1u << 30);
  const auto first = idle_at();
  write("disk-2", 1u << 30, {"oflag=append", "conv=notrunc"});
  EXPECT_GE(idle_at() - first, kWritten);
  write("disk-3", 1u << 30, {"conv=fsync"});
  EXPECT_GE(std::chrono::steady_clock::now().time_since_epoch(), idle_at());
}

TEST_F(SlowDiskTest, OtherDirectoriesAreNotOnIt) {
  write("elsewhere", 0, {"conv=fsync"});
  EXPECT_EQ(idle_at(), 0ns);
}

}  // namespace
}  // namespace weft::bench

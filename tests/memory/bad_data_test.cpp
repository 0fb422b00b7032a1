// Input that cannot be processed within the budget, user code that breaks its contract, disks that are full: the job fails with one
// clear message that names the operator and its budget, and leaves no temporary file behind.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitized.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

/// Embedded, or on two worker processes.
class BadDataTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the budgets are those of a plain build";
    fs::create_directory(scratch_ / "tmp");
  }

  ProcessResult launch(const std::string& mode, std::vector<std::string> arguments, const std::string& memory = "16MiB") {
    std::vector<std::string> command{std::string(WEFT_BIN_DIR) + "/bad_job",
                                     mode,
                                     "--output",
                                     scratch_ / "out",
                                     "--quiet",
                                     "--max-attempts",
                                     "1",
                                     "--tmp",
                                     scratch_ / "tmp",
                                     "--memory",
                                     memory};
    std::istringstream how(GetParam());
    for (std::string word; how >> word;) command.push_back(word);
    if (std::find(arguments.begin(), arguments.end(), "--threads") != arguments.end()) {  // instead of those of the mode
      command.erase(std::find(command.begin(), command.end(), "--threads"), command.end());
    }
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run(command);
  }

  /// One line that mentions all `words`, no output, nothing left behind.
  void expect_clear_failure(const ProcessResult& result, const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, 1) << result.err;
    for (const std::string& word : words)
      EXPECT_NE(result.err.find(word), std::string::npos) << word << " is not in: " << result.err;
    EXPECT_TRUE(entries(scratch_ / "tmp").empty());
    fs::remove(scratch_ / "in");
    EXPECT_EQ(entries(scratch_.path()), std::vector<std::string>{"tmp"});
  }

  void expect_success(const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(entries(scratch_ / "tmp").empty());
    fs::remove_all(scratch_ / "out");
  }

  ScratchDirectory scratch_;
};

std::string number(std::uint64_t value) { return std::to_string(value); }
constexpr std::uint64_t kTooLarge = 24u << 20;  // for --memory 16MiB
constexpr std::uint64_t kLarge = 400'000;       // not too large

TEST_P(BadDataTest, ALineLargerThanTheBudget) {
  write_file(scratch_ / "in", "a\n" + std::string(kTooLarge, 'x') + "\nb\n");
  expect_clear_failure(launch("large-line", {"--input", scratch_ / "in"}), {"read_text", "at byte 2", "budget of"});
}

TEST_P(BadDataTest, ALineThatNeverEnds) {
  write_file(scratch_ / "in", std::string(kTooLarge, 'x'));
  expect_clear_failure(launch("large-line", {"--input", scratch_ / "in"}), {"read_text", "at byte 0", "budget of"});
}

TEST_P(BadDataTest, AFixedSizeRecordLargerThanTheBudget) {
  write_file(scratch_ / "in", std::string(kTooLarge, 'x'));
  expect_clear_failure(launch("large-record", {"--input", scratch_ / "in", "--bytes", number(kTooLarge)}),
                       {"read_records", "budget of"});
}

TEST_P(BadDataTest, ARecordOrKeyLargerThanTheBudgetOfEachOperator) {
  const std::vector<std::pair<std::string, std::string>> modes{
      {"large-written", "write"},         {"large-shuffled", "shuffle write"},
      {"large-reduced", "reduce_by_key"}, {"large-distinct", "distinct"},
      {"large-grouped", "group_by"},      {"large-sorted", "sort"},
      {"large-joined", "join"},           {"large-top", "top"}};
  for (const auto& [mode, name] : modes) {
    SCOPED_TRACE(mode);
    expect_clear_failure(launch(mode, {"--bytes", number(kTooLarge)}), {name, "budget of"});
  }
}

TEST_P(BadDataTest, AKeyLargerThanWhatItsOperatorMayUse) {
  const std::vector<std::pair<std::string, std::string>> modes{{"large-reduced", "aggregation by key"},
                                                               {"large-distinct", "aggregation by key"},
                                                               {"large-grouped", "group by key"},
                                                               {"large-sorted", "sort"},
                                                               {"large-joined", "join"}};
  for (const auto& [mode, name] : modes) {
    SCOPED_TRACE(mode);
    expect_clear_failure(launch(mode, {"--bytes", number(3u << 20)}), {name + ":", "budget of 4194304 bytes"});
  }
}

TEST_P(BadDataTest, ARecordOrKeyThatFitsIsProcessed) {
  write_file(scratch_ / "in", "a\n" + std::string(kLarge, 'x') + "\nb\n");
  expect_success(launch("large-line", {"--input", scratch_ / "in"}));
  for (const char* mode : {"large-written", "large-shuffled", "large-reduced", "large-distinct", "large-grouped", "large-sorted",
                           "large-joined", "large-top"}) {
    SCOPED_TRACE(mode);
    expect_success(launch(mode, {"--bytes", number(kLarge)}));
  }
}

TEST_P(BadDataTest, ACodecThatThrows) {
  expect_clear_failure(launch("codec", {}), {"repartition", "a fragile 17 cannot be encoded"});
  expect_clear_failure(launch("codec-key", {}), {"reduce_by_key", "a fragile 17 cannot be encoded"});
  expect_clear_failure(launch("codec-read", {}), {"write_text", "a fragile 18 cannot be decoded"});
}

TEST_P(BadDataTest, AComparisonThatContradictsItself) {
  for (const char* records : {"3000", "400000"}) {  // in memory, and spilled
    SCOPED_TRACE(records);
    expect_clear_failure(launch("whim-sort", {"--records", records}), {"sort", "no strict weak order", "bytes of memory"});
    expect_clear_failure(launch("whim-top", {"--records", records}), {"top", "no strict weak order", "bytes of memory"});
  }
}

constexpr const char* kManyModes[] = {"many-reduced", "many-grouped", "many-sorted", "many-joined", "many-top"};

/// A disk of `size` while it lives.
class SmallDisk {
 public:
  SmallDisk(std::string path, const char* size) : path_(std::move(path)) {
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST_P(BadDataTest, AFullDiskWhileMapOutputIsWritten) {
  const SmallDisk disk(scratch_ / "tmp", "6m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system needs root";
  for (const char* mode : kManyModes) {
    SCOPED_TRACE(mode);
    expect_clear_failure(launch(mode, {"--records", "400000"}), {"No space left on device", "bytes of memory", scratch_ / "tmp"});
  }
}

TEST_P(BadDataTest, AFullDiskWhileAnOperatorSpills) {
  const SmallDisk disk(scratch_ / "tmp", "3m");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system needs root";
  // Map outputs fit their half of the memory; what one of eight tasks gathers does not fit its part of the other half.
  const std::vector<std::string> arguments{"--records", "100000", "--partitions", "1", "--threads", "8"};
  const std::vector<std::pair<std::string, std::string>> modes{{"many-reduced", "aggregation by key"},
                                                               {"many-grouped", "group by key"},
                                                               {"many-sorted", "sort"},
                                                               {"many-joined", "join"},
                                                               {"many-top", "sort"}};
  for (const auto& [mode, name] : modes) {
    SCOPED_TRACE(mode);
    expect_clear_failure(launch(mode, arguments, "64MiB"),
                         {name + " needs more than", "No space left on device", scratch_ / "tmp"});
  }
}

TEST_P(BadDataTest, FilesThatMayNotGrowAnyFurther) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const char* mode : kManyModes) {
    SCOPED_TRACE(mode);
    const rlimit small{1u << 20, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto result = launch(mode, {"--records", "400000"});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_clear_failure(result, {"File too large"});
  }
}

TEST_P(BadDataTest, ADiskThatIsLargeEnoughForTheSameWork) {
  for (const char* mode : kManyModes) {
    SCOPED_TRACE(mode);
    expect_success(launch(mode, {"--records", "400000"}));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, BadDataTest, testing::Values("--threads 2", "--workers 2 --threads 2"),
                         [](const auto& mode) { return mode.index == 0 ? "embedded" : "workers"; });

}  // namespace
}  // namespace weft::test

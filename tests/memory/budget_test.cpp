// What jobs take at most: their budget and some room for buffers of fixed size, however large the input is.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kBudget = 16 * kMiB;
constexpr std::uint64_t kRoom = 40 * kMiB;  // half of the input does not fit budget and room

std::string program(const std::string& name) { return std::string(WEFT_BIN_DIR) + "/" + name; }

/// Embedded, or on two worker processes.
class BudgetTest : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    if (kSanitized) return;
    input_ = new ScratchDirectory;
    ASSERT_EQ(run({program("terasort"), "gen", "--quiet", "--records", "2000000", "--output", *input_ / "records"}).exit_code, 0);
  }
  static void TearDownTestSuite() {
    delete input_;
    input_ = nullptr;
  }
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  }

  /// Of the process, or of the worker and executor that took more.
  std::uint64_t peak_of(std::vector<std::string> command) {
    command[0] = program(command[0]);
    for (const char* word : {"--quiet", "--memory", "16MiB", "--output"}) command.emplace_back(word);
    command.push_back(scratch_ / "out");
    std::istringstream how(GetParam());
    for (std::string word; how >> word;) command.push_back(word);
    Process job(command);
    MemoryWatch watch(job.pid());
    const auto result = job.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::uint64_t most = 0;
    for (const auto& [name, bytes] : watch.finish().groups) most = std::max(most, bytes);
    EXPECT_GT(most, kMiB) << "nothing was measured";
    return most;
  }

  static std::string records() { return *input_ / "records"; }

  static inline ScratchDirectory* input_ = nullptr;
  ScratchDirectory scratch_;
};

TEST_P(BudgetTest, HoldsForASort) { EXPECT_LE(peak_of({"terasort", "sort", "--input", records()}), kBudget + kRoom); }

TEST_P(BudgetTest, HoldsForAJoin) {
  EXPECT_LE(peak_of({"join", "--left", records(), "--right", records(), "--record-bytes", "100", "--key-bytes", "10"}),
            kBudget + kRoom);
}

TEST_P(BudgetTest, HoldsForAnAggregationOfManyKeys) {
  EXPECT_LE(peak_of({"join", "--left", records(), "--right", records() + "/part-00000", "--record-bytes", "100", "--key-bytes",
                     "10", "--how", "left", "--aggregate", "count"}),
            kBudget + kRoom);
}

INSTANTIATE_TEST_SUITE_P(Modes, BudgetTest, testing::Values("--threads 2", "--workers 2 --threads 1"),
                         [](const auto& mode) { return mode.index == 0 ? "embedded" : "workers"; });

}  // namespace
}  // namespace weft::test

// kill -9 of a worker or of an executor at a random moment of WordCount and TeraSort on three workers: the output stays right,
// nothing stays behind. Seeds are printed; WEFT_LONG=1 runs fifty of each.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/reference/reference.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string program(const std::string& name) { return std::string(WEFT_BIN_DIR) + "/" + name; }
int rounds() { return std::getenv("WEFT_LONG") != nullptr ? 50 : 5; }

std::vector<int> with_role(const std::string& tag, const std::string& role) {
  return processes_with({{"WEFT_TEST_TAG", tag}, {"WEFT_ROLE", role}});
}

class KillTest : public testing::Test {
 protected:
  /// Runs the job, kills one process of a random role after a random part of `usual`, and returns the job's result.
  ProcessResult run_and_kill(std::vector<std::string> command, unsigned seed, std::chrono::microseconds usual) {
    std::mt19937 random(seed);
    const std::string role = random() % 2 == 0 ? "worker" : "executor";
    const auto delay = usual * static_cast<int>(random() % 1000) / 1000;
    tag_ = std::to_string(::getpid()) + "-" + std::to_string(seed);
    Process job(command, {.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = std::chrono::seconds(90)});
    const auto moment = Clock::now() + delay;
    eventually([&] { return !job.running() || (Clock::now() >= moment && !with_role(tag_, role).empty()); },
               std::chrono::seconds(60));
    const auto victims = with_role(tag_, role);
    if (!victims.empty()) {
      ::kill(victims[random() % victims.size()], SIGKILL);
      ++killed_;
    }
    return job.wait();
  }

  bool nothing_left() {
    return eventually([&] { return processes_with("WEFT_TEST_TAG", tag_).empty(); });
  }

  ScratchDirectory scratch_;
  std::string tag_;
  int killed_ = 0;
};

TEST_F(KillTest, WordcountSurvivesTheLossOfAnyProcessAtAnyMoment) {
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) text += "w" + std::to_string(random() % 50'000) + (i % 12 == 0 ? "\n" : " ");
  write_file(scratch_ / "text", text);
  const auto expected = reference::wordcount({text});
  const std::vector<std::string> base{program("wordcount"), "--quiet", "--workers", "3", "--input", scratch_ / "text", "--output"};

  auto usual_command = base;
  usual_command.push_back(scratch_ / "usual");
  const auto start = Clock::now();
  ASSERT_EQ(run(usual_command).exit_code, 0);
  const auto usual = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);

  for (unsigned seed = 0; seed < static_cast<unsigned>(rounds()); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto command = base;
    command.push_back(scratch_ / ("out" + std::to_string(seed)));
    const auto result = run_and_kill(command, seed, usual);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    auto lines = part_lines(command.back());
    std::sort(lines.begin(), lines.end());
    ASSERT_TRUE(lines == expected);
    EXPECT_TRUE(nothing_left());
  }
  EXPECT_GT(killed_, 0);
}

TEST_F(KillTest, TerasortSurvivesTheLossOfAnyProcessAtAnyMoment) {
  ASSERT_EQ(run({program("terasort"), "gen", "--quiet", "--records", "200000", "--output", scratch_ / "unsorted"}).exit_code, 0);
  const std::string expected = reference::terasort(part_bytes(scratch_ / "unsorted"));
  const std::vector<std::string> base{program("terasort"),   "sort",    "--quiet", "--workers", "3", "--input",
                                      scratch_ / "unsorted", "--output"};
  auto usual_command = base;
  usual_command.push_back(scratch_ / "usual");
  const auto start = Clock::now();
  ASSERT_EQ(run(usual_command).exit_code, 0);
  const auto usual = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);

  for (unsigned seed = 1000; seed < 1000 + static_cast<unsigned>(rounds()); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto command = base;
    command.push_back(scratch_ / ("out" + std::to_string(seed)));
    const auto result = run_and_kill(command, seed, usual);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_TRUE(part_bytes(command.back()) == expected);
    EXPECT_TRUE(nothing_left());
  }
  EXPECT_GT(killed_, 0);
}

TEST_F(KillTest, APrivateClusterDiesWithItsDriver) {
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text += "w" + std::to_string(i % 70'000) + " ";
  write_file(scratch_ / "text", text);
  tag_ = std::to_string(::getpid()) + "-driver";
  Process job({program("wordcount"), "--quiet", "--workers", "3", "--input", scratch_ / "text", "--output", scratch_ / "out"},
              {.environment = {{"WEFT_TEST_TAG", tag_}}});
  ASSERT_TRUE(eventually([&] { return !with_role(tag_, "executor").empty() || !job.running(); }));
  job.signal(SIGKILL);
  job.wait();
  EXPECT_TRUE(nothing_left());
  EXPECT_TRUE(entries(scratch_ / "out").empty());
}

}  // namespace
}  // namespace weft::test

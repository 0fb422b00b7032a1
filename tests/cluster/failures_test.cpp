// Private clusters and user code that behaves badly: a one-line error that names the cause, or a job that goes on, and nothing
// left.
#include <algorithm>

#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

class BadUserCode : public testing::Test {
 protected:
  ProcessResult probe(std::vector<std::string> words, const std::string& workers = "2") {
    words.insert(words.begin(), program("cluster_probe"));
    words.insert(words.end(), {"--quiet", "--workers", workers, "--marker", scratch_ / "marker"});
    return run(words, {.environment = {{"WEFT_TEST_TAG", tag_}}, .deadline = std::chrono::seconds(100), .may_die = true});
  }
  void TearDown() override {
    EXPECT_TRUE(eventually([&] { return processes_with("WEFT_TEST_TAG", tag_).empty(); }));
  }
  static bool one_line(const std::string& text) { return !text.empty() && std::count(text.begin(), text.end(), '\n') == 1; }

  ScratchDirectory scratch_;
  std::string tag_ = "bad-" + std::to_string(getpid());
};

TEST_F(BadUserCode, RunsWellWhenItBehaves) {
  const auto result = probe({"sums", "--records", "20000", "--tasks", "9"}, "3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(20000));
}

TEST_F(BadUserCode, ThatRefersToALocalVariableOfTheDefinitionIsRefusedWithWorkers) {
  if (kSanitized) GTEST_SKIP() << "local variables are not on the stack";
  const auto result = probe({"capture"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("map (probe.cpp:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("capture by value"), std::string::npos) << result.err;
  EXPECT_TRUE(one_line(result.err)) << result.err;
  const auto here = run({program("cluster_probe"), "capture", "--quiet", "--threads", "1"});
  EXPECT_EQ(here.exit_code, 0) << here.err;
  EXPECT_NE(here.err.find("capture by value"), std::string::npos) << here.err;
}

TEST_F(BadUserCode, ThatThrowsFailsTheJobWithItsMessage) {
  const auto result = probe({"throw"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("is bad"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("4 times"), std::string::npos) << result.err;
  EXPECT_TRUE(one_line(result.err)) << result.err;
}

TEST_F(BadUserCode, ThatThrowsIsReportedWithTheInputPosition) {
  write_file(scratch_ / "lines", "one\ntwo\nthree\n");
  const auto result = probe({"throw", "--input", scratch_ / "lines"});
  EXPECT_NE(result.err.find(scratch_ / "lines"), std::string::npos) << result.err;
}

TEST_F(BadUserCode, ThatCrashesIsReportedWithItsSignalAndInputPosition) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer takes the signal or the memory";
  write_file(scratch_ / "lines", "one\ntwo\nthree\n");
  const auto result = probe({"segfault", "--input", scratch_ / "lines"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("SIGSEGV"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(scratch_ / "lines"), std::string::npos) << result.err;
  EXPECT_TRUE(one_line(result.err)) << result.err;
}

TEST_F(BadUserCode, ThatExitsIsReportedWithItsExitCode) {
  const auto result = probe({"exit"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("exit code 3"), std::string::npos) << result.err;
}

TEST_F(BadUserCode, ThatDiesOnceIsTriedAgain) {
  const auto result = probe({"once", "--records", "5000"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(5000));
}

TEST_F(BadUserCode, ThatNeverEndsIsStoppedByTheTaskTimeout) {
  const auto result = probe({"loop", "--tasks", "1", "--task-timeout", "200ms", "--max-attempts", "1"}, "1");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("task timeout of 200ms"), std::string::npos) << result.err;
  EXPECT_TRUE(one_line(result.err)) << result.err;
}

TEST_F(BadUserCode, ThatAllocatesWithoutBoundFailsAlone) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer takes the signal or the memory";
  const auto result = probe({"allocate", "--tasks", "1", "--memory", "64MiB", "--max-attempts", "1"}, "1");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("memory"), std::string::npos) << result.err;
  EXPECT_TRUE(one_line(result.err)) << result.err;
}

TEST_F(BadUserCode, EndsInGoodOrderWhenTheDriverIsInterrupted) {
  Process job(
      {program("cluster_probe"), "wait", "--quiet", "--workers", "2", "--records", "100000", "--marker", scratch_ / "marker"},
      {.environment = {{"WEFT_TEST_TAG", tag_}}});
  ASSERT_TRUE(eventually([&] { return access((scratch_ / "marker").c_str(), F_OK) == 0; }));
  job.signal(SIGINT);
  const auto result = job.wait();
  EXPECT_NE(result.exit_code, 0);
  EXPECT_TRUE(one_line(result.err)) << result.err;
}

TEST_F(BadUserCode, LeavesNothingWhenTheDriverIsKilledAtAnyMoment) {
  std::srand(7);
  for (int round = 0; round < 5; ++round) {
    Process job(
        {program("cluster_probe"), "wait", "--quiet", "--workers", "2", "--records", "100000", "--marker", scratch_ / "marker"},
        {.environment = {{"WEFT_TEST_TAG", tag_}}});
    const std::size_t processes = static_cast<std::size_t>(std::rand() % 5) + 1;  // of driver, two workers, two executors
    ASSERT_TRUE(eventually([&] { return processes_with("WEFT_TEST_TAG", tag_).size() >= processes; })) << processes;
    job.signal(SIGKILL);
    job.wait();
    ASSERT_TRUE(eventually([&] { return processes_with("WEFT_TEST_TAG", tag_).empty(); })) << "killed with " << processes;
  }
}

}  // namespace
}  // namespace weft::test

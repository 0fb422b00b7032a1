// What user code attempts against its machine, its worker and other jobs, and what becomes of it (SECURITY.md).
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/machine.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

using Words = std::vector<std::string>;

class IsolationTest : public testing::Test {
 protected:
  Words job(const std::string& script, Words more = {}) const {
    Words words{program("shell_probe"), "--quiet", "--cluster", cluster_.address(), script};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProcessResult run_script(const std::string& script, Words more = {}) const { return run(job(script, std::move(more))); }
  std::vector<int> left_behind(const std::string& mark) const {
    auto variables = cluster_.options().environment;
    variables["LEFT_BEHIND"] = mark;
    return processes_with(variables);
  }
  std::string log(const std::string& job) const { return cluster_.admin({"job", "logs", job}).out; }

  ScratchDirectory files_;
  Cluster cluster_{1};
};

TEST_F(IsolationTest, AProcessOfAJobGetsNoMoreRightsAndWritesNoCore) {
  const auto ran = run_script("grep NoNewPrivs /proc/self/status; grep 'core file' /proc/self/limits");
  EXPECT_TRUE(has(ran.out, "NoNewPrivs:\t1\n")) << ran.out << ran.err;
  EXPECT_TRUE(has(ran.out, "Max core file size        1                    1 ")) << ran.out;
}

TEST_F(IsolationTest, AJobHasADirectoryOfItsOwnForTemporaryFilesUntilItEnds) {
  const auto ran = run_script("touch \"$TMPDIR/file\" && stat -c '%a %U' \"$TMPDIR\" && echo \"$TMPDIR\"");
  EXPECT_TRUE(ran.out.starts_with("700 " + user_name() + "\n/")) << ran.out << ran.err;
  const std::string directory = ran.out.substr(ran.out.find('/'), ran.out.rfind('\n') - ran.out.find('/'));
  EXPECT_TRUE(eventually([&] { return entries(directory).empty(); })) << directory;
}

TEST_F(IsolationTest, NoDescriptorOfTheWorkerIsInherited) {
  // 3 is the connection to the worker; what an executor opens itself is closed when the shell starts.
  const auto ran = run_script("ls /proc/self/fd | tr '\\n' ' '");
  EXPECT_EQ(ran.out, "0 1 2 3 ") << "3 is the directory that ls reads: " << ran.out << ran.err;
}

TEST_F(IsolationTest, AProcessThatATaskLeavesBehindEndsWithItsJob) {
  const auto ran = run_script("(LEFT_BEHIND=yes setsid sh -c 'setsid sleep 1000 & sleep 1000' > /dev/null 2>&1 &); sleep 0.1");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(eventually([&] { return left_behind("yes").empty(); }));
  EXPECT_EQ(run_script("echo fine").out, "fine\n") << "the worker goes on";
}

TEST_F(IsolationTest, AProcessThatADriverLeavesBehindEndsWithIt) {
  const ScratchDirectory files;
  const std::string script = files / "driver";
  write_file(script, "#!/bin/sh\n(LEFT_BEHIND=driver setsid sleep 1000 > /dev/null &)\nls -d \"$TMPDIR\"\nexit 3\n");
  ASSERT_EQ(chmod(script.c_str(), 0755), 0);
  ASSERT_EQ(cluster_.admin({"submit", "--detach", script}).exit_code, 0);
  EXPECT_EQ(cluster_.admin({"job", "wait", "1"}).exit_code, 3);
  EXPECT_TRUE(has(log("1"), "-driver-") && has(log("1"), "/tmp\n")) << log("1");
  EXPECT_TRUE(eventually([&] { return left_behind("driver").empty(); }));
}

/// Where workers can make control groups.
class ControlGroupTest : public IsolationTest {
 protected:
  void SetUp() override {
    if (has(cluster_.worker(0).err_so_far(), "jobs have no control groups")) GTEST_SKIP() << cluster_.worker(0).err_so_far();
  }
};

TEST_F(ControlGroupTest, AForkBombReachesItsLimitAndOthersGoOn) {
  Process& small = cluster_.add_worker({"--job-processes", "200", "--attribute", "small=1"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_EQ(cluster_.worker(0).wait().exit_code, 0);
  Process honest(job("while [ ! -e " + files_ / "go" + " ]; do sleep 0.02; done; echo fine"));
  const auto bomb = run_script("i=0; while [ $i -lt 10000 ]; do (LEFT_BEHIND=bomb exec sleep 1000 > /dev/null 2>&1) & i=$((i+1)); done",
                               {"--max-attempts", "1"});
  EXPECT_NE(bomb.exit_code, 0) << bomb.out;
  EXPECT_TRUE(has(bomb.err, "; the job's processes reached the limit of 208 (weft worker --job-processes)")) << bomb.err;
  write_file(files_ / "go", "");
  EXPECT_EQ(honest.wait().out, "fine\n") << "beside it, on the same worker";
  EXPECT_TRUE(eventually([&] { return left_behind("bomb").empty(); }));
  EXPECT_TRUE(small.running());
}

TEST_F(ControlGroupTest, ProcessesThatTakeTooMuchMemoryAreEndedAndOthersGoOn) {
  cluster_.add_worker({"--memory", "64MiB", "--store-memory", "64MiB"});
  ASSERT_TRUE(cluster_.has_nodes(2));
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_EQ(cluster_.worker(0).wait().exit_code, 0);
  Process honest(job("while [ ! -e " + files_ / "go" + " ]; do sleep 0.02; done; echo fine"));
  // Several processes, because each of them may take as much as the job's executor.
  const auto eater = run_script("for i in 1 2 3; do head -c 500000000 /dev/zero | tail -c 500000000 | (sleep 5; wc -c) & done; wait; false",
                                {"--max-attempts", "1"});
  EXPECT_NE(eater.exit_code, 0) << eater.out;
  EXPECT_TRUE(has(eater.err, "of memory, and the kernel killed one of them") || has(eater.err, "out of memory (limit")) << eater.err;
  write_file(files_ / "go", "");
  EXPECT_EQ(honest.wait().out, "fine\n") << "beside it, on the same worker";
}

TEST_F(IsolationTest, AProcessOfATaskThatCrashedDoesNotStayEither) {
  const auto ran = run_script("(LEFT_BEHIND=crash setsid sleep 1000 > /dev/null 2>&1 &); kill -KILL $PPID", {"--max-attempts", "1"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_TRUE(has(ran.err, "SIGKILL")) << ran.err;
  EXPECT_TRUE(eventually([&] { return left_behind("crash").empty(); }));
}

}  // namespace
}  // namespace weft::test

// Processes that die by themselves: the harness notices each.
#include <gtest/gtest-spi.h>

#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

void kill_behind_the_harness(Process& process, int number) {
  ::kill(process.pid(), number);
  EXPECT_TRUE(eventually([&] { return !process.running(); }));
}

TEST(Harness, AWorkerThatAbortsFailsTheTest) {
  Cluster cluster(2);
  EXPECT_NONFATAL_FAILURE(kill_behind_the_harness(cluster.worker(0), SIGABRT), "ended unexpectedly, of SIGABRT");
}

TEST(Harness, AMasterThatAbortsFailsTheTest) {
  Cluster cluster(0);
  EXPECT_NONFATAL_FAILURE(kill_behind_the_harness(cluster.master(), SIGABRT), "ended unexpectedly, of SIGABRT");
}

TEST(Harness, ADaemonThatEndsByItselfFailsTheTest) {
  const auto end = [] { Process({"/bin/sh", "-c", "exit 3"}, {.daemon = true}).wait(); };
  EXPECT_NONFATAL_FAILURE(end(), "with exit code 3, though nobody asked it to end");
}

TEST(Harness, WhatEndsUnseenFailsTheTestToo) {
  const auto end = [] {
    Process process({"/bin/sh", "-c", "kill -BUS $$"});
    EXPECT_TRUE(eventually(
        [&] { return read_file("/proc/" + std::to_string(process.pid()) + "/stat").find(") Z ") != std::string::npos; }));
  };
  EXPECT_NONFATAL_FAILURE(end(), "of SIGBUS");
}

TEST(Harness, DeathsThatTheTestDeclaredAreNone) {
  Cluster cluster(3);
  cluster.worker(0).signal(SIGKILL);
  cluster.worker(1).signal(SIGTERM);
  cluster.worker(2).expect_death();
  ::kill(cluster.worker(2).pid(), SIGSEGV);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(cluster.worker(i).wait().exit_code, 3);
  EXPECT_EQ(run({"/bin/sh", "-c", "kill -BUS $$"}, {.may_die = true}).exit_code, 128 + SIGBUS);
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); }

class Deaths : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the sanitizer takes the signals";
  }
  /// Of the last worker that was added.
  void die_of(Process& worker, int number) {
    worker.signal(number);
    EXPECT_EQ(worker.wait().exit_code, 128 + number);
  }
};

TEST_F(Deaths, AWorkerSaysOfWhatAndWhereInOneLine) {
  Cluster cluster(1);
  Process& worker = cluster.worker(0);
  die_of(worker, SIGBUS);
  const std::string said = "error worker w1 (process " + std::to_string(worker.pid()) + "): died of SIGBUS, sent by process " +
                           std::to_string(getpid()) + "; backtrace: ";
  EXPECT_TRUE(has(last_line(worker.err_so_far()), said)) << worker.err_so_far();
  EXPECT_TRUE(has(last_line(worker.err_so_far()), "weft+0x")) << worker.err_so_far();
  EXPECT_EQ(worker.crashes(), last_line(worker.err_so_far()));
}

TEST_F(Deaths, TheMasterAndItsListsNameTheCause) {
  Cluster cluster(2);
  die_of(cluster.worker(1), SIGSEGV);
  ASSERT_TRUE(cluster.has_nodes(1));
  EXPECT_TRUE(has(cluster.master().err_so_far(), "error master: worker w2 died: SIGSEGV")) << cluster.master().err_so_far();
  EXPECT_TRUE(has(cluster.admin({"node", "list"}).out, "dead: SIGSEGV"));
  const std::string json = cluster.admin({"node", "list", "--json"}).out;
  EXPECT_TRUE(has(json, "\"state\":\"dead\",\"cause\":\"SIGSEGV\"")) << json;
  EXPECT_EQ(cluster.admin({"node", "wait", "2", "--timeout", "10ms"}).exit_code, 1);  // a dead one is not ready
  cluster.worker(0).signal(SIGTERM);
  ASSERT_TRUE(cluster.has_nodes(0));
  EXPECT_FALSE(has(cluster.admin({"node", "list"}).out, "w1")) << "it left in good order";
}

TEST_F(Deaths, AWorkerLostTwiceWithinAMinuteIsAnAlarm) {
  Cluster cluster(0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(has(cluster.master().err_so_far(), "ALARM"));
    Process& worker = cluster.add_worker({"--name", "again"});
    ASSERT_TRUE(cluster.has_nodes(1));
    die_of(worker, SIGBUS);
    ASSERT_TRUE(cluster.has_nodes(0));
  }
  EXPECT_TRUE(has(cluster.master().err_so_far(),
                  "error master: ALARM: worker again: it was lost twice within a minute (SIGBUS, then SIGBUS)"))
      << cluster.master().err_so_far();
}

TEST_F(Deaths, AJobsSummaryCountsTheWorkersItLost) {
  Cluster cluster(3);
  const std::string marker = cluster.scratch() / "marker", stats = cluster.scratch() / "stats";
  std::vector<std::string> command{program("cluster_probe"), "spin", "--cluster", cluster.address(), "--marker", marker};
  command.insert(command.end(), {"--records", "2000", "--tasks", "12", "--stats", stats});
  Process job(command, cluster.options());
  ASSERT_TRUE(eventually([&] { return access(marker.c_str(), F_OK) == 0; }));
  die_of(cluster.worker(0), SIGBUS);
  cluster.worker(1).signal(SIGKILL);
  ASSERT_TRUE(cluster.has_nodes(1));
  write_file(marker + ".go", "");
  const auto result = job.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(2000));
  EXPECT_TRUE(has(result.err, "2 workers were lost while it ran: w1 (SIGBUS), w2 (")) << result.err;
  EXPECT_TRUE(has(read_file(stats), "\"workers_lost\":2,\"lost_workers\":[\"w1 (SIGBUS)\",\"w2 (")) << read_file(stats);
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1"}).out, "2 workers were lost while it ran: w1 (SIGBUS), w2 ("));
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1", "--json"}).out, "\"workers_lost\":2"));
}

TEST_F(Deaths, AnExecutorSaysSoAndFailsTheTest) {
  ScratchDirectory scratch;
  const std::vector<std::string> command{program("cluster_probe"), "segfault", "--quiet", "--workers", "1", "--max-attempts", "1"};
  std::string crashes;
  const auto run_job = [&] {
    Process job(command);
    job.wait();
    crashes = job.crashes();
  };
  EXPECT_NONFATAL_FAILURE(run_job(), "of its processes, one died unexpectedly");
  EXPECT_TRUE(has(crashes, "error executor of cluster_probe (process ")) << crashes;
  EXPECT_TRUE(has(crashes, "died of SIGSEGV")) << crashes;
  EXPECT_EQ(std::count(crashes.begin(), crashes.end(), '\n'), 1) << crashes;
}

TEST_F(Deaths, AWorkerOfAPrivateClusterFailsTheTestThoughTheJobSucceeds) {
  ScratchDirectory scratch;
  const std::string marker = scratch / "marker", tag = "private-" + std::to_string(getpid());
  const auto run_job = [&] {
    Process job({program("cluster_probe"), "spin", "--quiet", "--workers", "2", "--records", "2000", "--marker", marker},
                {.environment = {{"WEFT_TEST_TAG", tag}}});
    EXPECT_TRUE(eventually([&] { return access(marker.c_str(), F_OK) == 0; }));
    const auto workers = processes_with({{"WEFT_TEST_TAG", tag}, {"WEFT_ROLE", "worker"}});
    if (!workers.empty()) ::kill(workers.front(), SIGBUS);
    write_file(marker + ".go", "");
    EXPECT_EQ(job.wait().out, expected_sums(2000));
  };
  EXPECT_NONFATAL_FAILURE(run_job(), "died of SIGBUS");
}

}  // namespace
}  // namespace weft::test

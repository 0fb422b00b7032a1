// weft job wait, weft job tail and weft top, on a real cluster.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/cluster.hpp"

namespace weft {
namespace {

using test::Cluster;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The process has a handler of the signal.
bool catches(int pid, int signal) {
  const std::string status = test::read_file("/proc/" + std::to_string(pid) + "/status");
  const auto at = status.find("SigCgt:");
  return at != std::string::npos && ((std::stoull(status.substr(at + 7), nullptr, 16) >> (signal - 1)) & 1) != 0;
}

TEST(Watch, TheExitStatusSaysHowAJobEnded) {
  Cluster cluster(1);
  ASSERT_EQ(test::run(cluster.job({"sums", "--records", "100", "--tasks", "2"}), cluster.options()).exit_code, 0);
  EXPECT_NE(test::run(cluster.job({"throw"}), cluster.options()).exit_code, 0);
  const auto finished = cluster.admin({"job", "wait", "1"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(has(finished.out, "job 1 ")) << finished.out;
  EXPECT_TRUE(has(cluster.admin({"job", "wait", "1", "--json"}).out, "\"state\":\"finished\""));
  for (const char* verb : {"wait", "tail"}) {
    const auto failed = cluster.admin({"job", verb, "2"});
    EXPECT_EQ(failed.exit_code, 3) << failed.err;
    EXPECT_TRUE(has(failed.err, "job 2 failed: ")) << failed.err;
    EXPECT_EQ(cluster.admin({"job", verb, "7"}).exit_code, 1);
    EXPECT_EQ(cluster.admin({"job", verb, "one"}).exit_code, 2);
  }
}

TEST(Watch, AJobThatRunsIsWaitedForAndOneThatIsKilledIsToldApart) {
  Cluster cluster(1);
  test::Process job(cluster.job({"wait", "--records", "100000", "--tasks", "2", "--marker", cluster.scratch() / "mark"}),
                    cluster.options());
  ASSERT_TRUE(test::eventually([&] { return has(cluster.admin({"job", "list"}).out, "running"); })) << job.err_so_far();
  const auto late = cluster.admin({"job", "wait", "1", "--timeout", "10ms"});
  EXPECT_EQ(late.exit_code, 5) << late.err;
  EXPECT_TRUE(test::one_line(late.err)) << late.err;
  const std::vector<std::string> command{test::program("weft"), "job", "wait", "1", "--master", cluster.address()};
  test::Process waiting(command);
  ASSERT_EQ(cluster.admin({"job", "kill", "1"}).exit_code, 0);
  const auto killed = waiting.wait();
  EXPECT_EQ(killed.exit_code, 4) << killed.err;
  EXPECT_TRUE(has(killed.err, "was killed")) << killed.err;
}

TEST(Watch, AnInterruptEndsTheLookAtAJobAndNotTheJob) {
  Cluster cluster(1);
  test::Process job(cluster.job({"wait", "--records", "100000", "--tasks", "2", "--marker", cluster.scratch() / "mark"}),
                    cluster.options());
  ASSERT_TRUE(test::eventually([&] { return has(cluster.admin({"job", "list"}).out, "running"); })) << job.err_so_far();
  test::Process attached({test::program("weft"), "job", "attach", "1", "--master", cluster.address()});
  ASSERT_TRUE(test::eventually([&] { return catches(attached.pid(), SIGINT); })) << attached.err_so_far();
  attached.signal(SIGINT);
  const auto left = attached.wait();
  EXPECT_EQ(left.exit_code, 5) << left.err;
  EXPECT_TRUE(has(left.err, "job 1 goes on")) << left.err;
  EXPECT_TRUE(has(cluster.admin({"job", "list"}).out, "running"));
  ASSERT_EQ(cluster.admin({"job", "cancel", "1"}).exit_code, 0);
  job.expect_death();
  EXPECT_NE(job.wait().exit_code, 0);
}

TEST(Watch, TopPrintsOneLookWhereThereIsNoTerminal) {
  Cluster cluster(2);
  const auto top = cluster.admin({"top"});
  EXPECT_EQ(top.exit_code, 0) << top.err;
  EXPECT_TRUE(has(top.out, "2 of 2 workers ready, 0 of 4 slots busy, 0 jobs running\n")) << top.out;
  EXPECT_TRUE(has(top.out, "w2")) << top.out;
  EXPECT_FALSE(has(top.out, "\033")) << top.out;
  const auto json = cluster.admin({"top", "--json"});
  EXPECT_TRUE(json.out.starts_with("{\"nodes\":[{\"id\":")) << json.out;
  EXPECT_TRUE(has(json.out, "],\"jobs\":[]")) << json.out;  // and the last hour, if the master has the port for a page
  EXPECT_EQ(cluster.admin({"top", "--interval", "0s"}).exit_code, 2);
}

}  // namespace
}  // namespace weft

// Speculative attempts on real processes: a worker whose tasks hang holds no job up.
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

std::vector<std::string> eager(const std::string& log) {
  return {"--speculation", "on(shortest=200ms, slower=2, finished=0.5, every=50ms)", "--event-log", log};
}

TEST(SpeculativeAttempts, FinishAJobWhoseTasksHangOnOneWorker) {
  const ScratchDirectory files;
  Cluster cluster(0, eager(files / "log"));
  for (int i = 0; i < 2; ++i) cluster.add_worker({"--stop-grace", "100ms"});
  ASSERT_TRUE(cluster.has_nodes(2));
  const auto result = run(cluster.job({"hang", "--on", "w1", "--tasks", "4", "--records", "2000", "--marker", files / "hung"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(2000));
  EXPECT_FALSE(read_file(files / "log").empty());
  EXPECT_EQ(access((files / "hung").c_str(), F_OK), 0) << "no task hung";

  const std::string log = read_file(files / "log");
  EXPECT_TRUE(has(log, "\"speculative\":true")) << log;
  EXPECT_TRUE(has(log, "another attempt of the task finished first")) << log;
  const std::string status = cluster.admin({"job", "status", "1", "--json"}).out;
  EXPECT_TRUE(has(status, "\"speculative_attempts\":2,\"speculative_won\":2")) << status;
  EXPECT_TRUE(has(status, R"("attempts":{"first":4,"retried":0,"speculative":2,"finished":4,"failed":0,"killed":2,"lost":0})"))
      << status;
  const std::string counters = cluster.admin({"job", "counters", "1", "--json"}).out;
  EXPECT_TRUE(has(counters, "\"generated\":2000")) << "counted once: " << counters;
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1"}).out, "2, 2 won"));

  // The worker is good for other jobs.
  const auto next = run(cluster.job({"sums", "--tasks", "4", "--records", "1000"}));
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_EQ(next.out, expected_sums(1000));
}

TEST(SpeculativeAttempts, CanBeSwitchedOffAndABadOptionIsRefusedWithItsReason) {
  const ScratchDirectory files;
  const auto refused = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--speculation", "on(slower=0)"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(has(refused.err, "slower")) << refused.err;

  Cluster cluster(2, {"--speculation", "off"});
  Process job(cluster.job({"hang", "--on", "w1", "--tasks", "4", "--records", "2000", "--marker", files / "hung"}),
              cluster.options());
  ASSERT_TRUE(eventually([&] { return has(cluster.admin({"job", "status", "1", "--json"}).out, "\"finished\":2"); }));
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1", "--json"}).out, "\"speculative_attempts\":0"));
  EXPECT_EQ(cluster.admin({"job", "kill", "1"}).exit_code, 0);
  EXPECT_NE(job.wait().exit_code, 0);
}

}  // namespace
}  // namespace weft::test

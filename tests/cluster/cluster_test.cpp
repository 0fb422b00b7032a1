// A standing cluster: jobs, the command line, lost workers, lost drivers, restarts.
#include "tests/cluster/cluster.hpp"

#include <algorithm>
#include <map>

namespace weft::test {
namespace {

using testing::Test;

TEST(StandingCluster, RunsAJobWhoseRecordsCrossTheShuffleBetweenWorkers) {
  Cluster cluster(2);
  const auto result = run(cluster.job({"sums", "--tasks", "7", "--records", "50000"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
}

TEST(StandingCluster, RunsManyTasksAndFollowsProgramLogicBetweenActions) {
  Cluster cluster(2);
  const auto many = run(cluster.job({"noop", "--tasks", "3000"}));
  EXPECT_EQ(many.exit_code, 0) << many.err;
  EXPECT_EQ(many.out, "count 3000\n");
  const auto loop = run(cluster.job({"iterate", "--records", "1000"}));
  EXPECT_EQ(loop.exit_code, 0) << loop.err;
  EXPECT_EQ(loop.out, "rounds 9\n");
}

TEST(StandingCluster, SplitsAHotJoinKeyOverTasks) {
  const std::uint64_t records = 2'000'000;
  std::map<std::uint64_t, std::uint64_t> sums;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t key = i % 2 == 0 ? 7 : i % 1000;
    sums[key] += i + 3 * key;
  }
  std::string expected;
  for (const auto& [key, sum] : sums) expected += std::to_string(key) + " " + std::to_string(sum) + "\n";
  const std::vector<std::string> words = {
      program("cluster_probe"), "skewed_join", "--records", std::to_string(records), "--tasks", "8", "--quiet"};
  for (const std::vector<std::string>& where : {std::vector<std::string>{"--threads", "2"}, {"--workers", "2"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), where.begin(), where.end());
    const auto result = run(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto line = result.out.find('\n');
    EXPECT_GT(std::stoi(result.out.substr(6, line - 6)), 1) << result.out.substr(0, line);
    EXPECT_EQ(result.out.substr(line + 1), expected);
  }
}

TEST(StandingCluster, ShowsJobsCountersNodesAndLogs) {
  Cluster cluster(1);
  ASSERT_EQ(run(cluster.job({"sums", "--records", "5000"})).exit_code, 0);
  EXPECT_NE(cluster.admin({"job", "list"}).out.find("finished"), std::string::npos);
  const auto counters = cluster.admin({"job", "counters", "1"});
  EXPECT_NE(counters.out.find("5000"), std::string::npos) << counters.out << counters.err;
  const std::string status = cluster.admin({"job", "status", "1", "--json"}).out;
  for (const char* member : {"\"compute\":", "\"cpu\":", "\"peak_task_memory_bytes\":"}) {
    const auto at = status.find(member);
    ASSERT_NE(at, std::string::npos) << status;
    EXPECT_GT(std::stod(status.substr(at + std::string(member).size())), 0) << member << status;
  }
  const auto unknown = cluster.admin({"job", "status", "77"});
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_NE(unknown.err.find("no job 77"), std::string::npos) << unknown.err;
}

TEST(StandingCluster, CountersAreShownAtTheEndOfEveryRunAndInItsStats) {
  Cluster cluster(1);
  ScratchDirectory scratch;
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"--threads", "2"}, {"--workers", "2"}, {"--cluster", cluster.address()}}) {
    SCOPED_TRACE(where[0]);
    std::vector<std::string> command{program("cluster_probe"), "sums", "--records", "4321", "--stats", scratch / "stats.json"};
    command.insert(command.end(), where.begin(), where.end());
    const auto result = run(command);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.err.find("\ncluster_probe: counter generated: 4321\n"), std::string::npos) << result.err;
    const std::string stats = read_file(scratch / "stats.json");
    EXPECT_NE(stats.find("\"counters\":{\"generated\":4321}"), std::string::npos) << stats;
    command.emplace_back("--quiet");
    EXPECT_EQ(run(command).err, "");
  }
}

TEST(StandingCluster, KillsAJobOnRequest) {
  Cluster cluster(1);
  Process job(cluster.job({"wait", "--records", "1000000", "--marker", cluster.scratch() / "begun"}), cluster.options());
  ASSERT_TRUE(eventually(
      [&] { return !entries(cluster.scratch() / "").empty() && access((cluster.scratch() / "begun").c_str(), F_OK) == 0; }));
  EXPECT_EQ(cluster.admin({"job", "kill", "1"}).exit_code, 0);
  const auto result = job.wait();
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("kill"), std::string::npos) << result.err;
  EXPECT_TRUE(eventually([&] { return cluster.executors().empty(); }));
}

TEST(StandingCluster, KillsTheJobOfALostDriverAndGoesOn) {
  Cluster cluster(1);
  Process job(cluster.job({"wait", "--records", "1000000", "--marker", cluster.scratch() / "begun"}), cluster.options());
  ASSERT_TRUE(eventually([&] { return access((cluster.scratch() / "begun").c_str(), F_OK) == 0; }));
  job.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] {
    return cluster.admin({"job", "list"}).out.find("driver was lost") != std::string::npos ||
           cluster.admin({"job", "list"}).out.find("killed") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] { return cluster.processes().size() == 2; }));  // no executor is left
  EXPECT_EQ(run(cluster.job({"noop"})).exit_code, 0);
}

/// A master that keeps its jobs is waited for (restart_test.cpp); this one keeps nothing.
TEST(StandingCluster, WhoseMasterIsKilledHasDriversThatSaySoAtOnce) {
  ScratchDirectory files;
  Cluster cluster(1);
  const std::string marker = files / "marker";
  Process job(cluster.job({"hold", "--records", "3000", "--marker", marker, "--output", ""}), cluster.options());
  ASSERT_TRUE(eventually([&] { return access((marker + ".held").c_str(), F_OK) == 0; })) << job.err_so_far();
  cluster.master().signal(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const auto result = job.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(10)) << "it takes no longer than the driver's end";
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("lost the master at " + cluster.address()), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(StandingCluster, RedoesTheWorkOfALostWorkerAndTakesItBack) {
  Cluster cluster(2);
  Process job(cluster.job({"wait", "--tasks", "40", "--records", "400", "--marker", cluster.scratch() / "begun"}),
              cluster.options());
  ASSERT_TRUE(eventually([&] { return access((cluster.scratch() / "begun").c_str(), F_OK) == 0; }));
  cluster.worker(0).signal(SIGKILL);
  const auto result = job.wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(400));
  cluster.add_worker();
  EXPECT_TRUE(cluster.has_nodes(2));
}

TEST(StandingCluster, WorkersWaitForAMasterThatComesBack) {
  ScratchDirectory scratch;
  auto cluster = std::make_unique<Cluster>(1);
  const std::string address = cluster->address();
  cluster->master().signal(SIGTERM);
  EXPECT_EQ(cluster->master().wait().exit_code, 0);
  Process again({program("weft"), "master", "--listen", address, "--port-file", scratch / "port"}, cluster->options());
  EXPECT_TRUE(cluster->has_nodes(1)) << again.err_so_far();
  EXPECT_EQ(run(cluster->job({"sums", "--records", "1000"})).out, expected_sums(1000));
}

TEST(StandingCluster, EndsCleanlyOnSigterm) {
  Cluster cluster(2);
  ASSERT_EQ(run(cluster.job({"noop"})).exit_code, 0);
  cluster.worker(0).signal(SIGTERM);
  EXPECT_EQ(cluster.worker(0).wait().exit_code, 0);
  EXPECT_TRUE(cluster.has_nodes(1));
  cluster.master().signal(SIGTERM);
  EXPECT_EQ(cluster.master().wait().exit_code, 0);
}

TEST(StandingCluster, SaysSoWhenNoMasterAnswers) {
  const auto result = run({program("cluster_probe"), "noop", "--cluster", "127.0.0.1:1", "--patience", "0s"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("127.0.0.1:1"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(run({program("weft"), "job", "list", "--master", "127.0.0.1:1"}).exit_code, 0);
}

TEST(StandingCluster, RefusesAPortThatIsInUse) {
  Cluster cluster(0);
  const auto second = run({program("weft"), "master", "--listen", cluster.address()});
  EXPECT_NE(second.exit_code, 0);
  EXPECT_NE(second.err.find(cluster.address()), std::string::npos) << second.err;
}

}  // namespace
}  // namespace weft::test

// What a submission says about itself and a worker about its machine, as the scheduler and people see it.
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <sstream>

#include <pwd.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

TEST(Submission, SaysWhoseItIsWhereItBelongsAndWhenItShouldBeDone) {
  Cluster cluster(1);
  ASSERT_EQ(run(cluster.job({"noop", "--user", "alice", "--pool", "etl", "--priority", "3", "--weight", "2.5", "--deadline", "1h",
                             "--demand", "cpu=1,memory=1MiB"}))
                .exit_code,
            0);
  const std::string status = cluster.admin({"job", "status", "1", "--json"}).out;
  EXPECT_TRUE(has(status, "\"user\":\"alice\"") && has(status, "\"pool\":\"etl\"") && has(status, "\"priority\":3")) << status;
  EXPECT_TRUE(has(status, "\"weight\":2.5")) << status;
  EXPECT_TRUE(has(status, "\"deadline_seconds_left\":35")) << status;  // of 3600
  EXPECT_TRUE(has(cluster.admin({"job", "status", "1"}).out, "to spare"));

  ASSERT_EQ(run({program("weft"), "submit", "--master", cluster.address(), "--pool", "adhoc", "--weight", "0.5",
                 program("cluster_probe"), "--", "noop", "--quiet"})
                .exit_code,
            0);
  const std::string second = cluster.admin({"job", "status", "2", "--json"}).out;
  EXPECT_TRUE(has(second, "\"pool\":\"adhoc\"") && has(second, "\"weight\":0.5")) << second;
  EXPECT_TRUE(has(second, std::string("\"user\":\"") + getpwuid(getuid())->pw_name + "\"")) << second;  // the login name
}

TEST(Submission, IsToldWhetherItsDeadlineIsExpectedToBeMet) {
  Cluster cluster(1);
  Process job({program("cluster_probe"), "wait", "--tasks", "8", "--records", "200", "--marker", cluster.scratch() / "begun",
               "--cluster", cluster.address(), "--deadline", "10ms"},
              cluster.options());
  EXPECT_TRUE(eventually([&] {
    const std::string status = cluster.admin({"job", "status", "1"}).out;
    const std::string list = cluster.admin({"job", "list", "--json"}).out;
    return (has(status, "outlook: expected to miss the deadline by ") && has(list, R"("outlook":"expected to miss)")) ||
           has(status, "(finished)");
  }));
  const auto result = job.wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.err, "expected to miss the deadline by ") && has(result.err, "even with all workers for itself"))
      << result.err;
  const auto loose = run({program("cluster_probe"), "wait", "--tasks", "8", "--records", "200", "--marker",
                          cluster.scratch() / "again", "--cluster", cluster.address(), "--deadline", "1h"});
  EXPECT_TRUE(has(loose.err, "expected to meet the deadline with ")) << loose.err;
}

TEST(Submission, WithNonsenseIsRefusedOnTheCommandLine) {
  for (const auto& [option, value, complaint] :
       std::vector<std::tuple<std::string, std::string, std::string>>{{"--demand", "memory=lots", "memory"},
                                                                      {"--demand", "ram=1", "ram"},
                                                                      {"--deadline", "soon", "soon"},
                                                                      {"--weight", "heavy", "--weight"},
                                                                      {"--hint", "colour=red", "there is no hint 'colour'"},
                                                                      {"--hint", "shuffle_ratio=-1", "shuffle_ratio"},
                                                                      {"--deadline", "0s", "0"}}) {
    const auto result = run({program("cluster_probe"), "noop", option, value});
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_TRUE(has(result.err, complaint) && one_line(result.err)) << result.err;
  }
}

TEST(SchedulerShow, ListsWhatThereIsWithoutAMaster) {
  // In a network of its own nothing listens on the port that masters have by themselves.
  const auto alone = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"env", "-u", "WEFT_MASTER", "unshare", "--user", "--net", program("weft"), "scheduler", "show"});
    return run(words);
  };
  if (run({"unshare", "--user", "--net", "true"}).exit_code != 0) GTEST_SKIP() << "no namespaces here";
  const auto text = alone({});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "no master at 127.0.0.1:7077") && has(text.out, "tetris  ")) << text.out;
  EXPECT_TRUE(has(alone({"--json"}).out, "{\"scheduler\":null,\"files\":[],\"known\":{\"adaptive\":"));
  const auto named = alone({"--master", "127.0.0.1:7077", "--patience", "0s"});
  EXPECT_EQ(named.exit_code, 1) << "who names a master asks about that one";
  EXPECT_TRUE(one_line(named.err)) << named.err;
}

TEST(Submission, OfTasksLargerThanAnyWorkerFailsAndNamesTheLargest) {
  Cluster cluster(0);
  cluster.add_worker({"--capacity", "memory=1GiB"});
  cluster.add_worker({"--capacity", "memory=2GiB"});
  ASSERT_TRUE(cluster.has_nodes(2));
  const auto result = run(cluster.job({"noop", "--demand", "memory=3GiB"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, "the largest worker, w2, has cpu=2,memory=2GiB") && one_line(result.err)) << result.err;
  EXPECT_EQ(run(cluster.job({"noop", "--demand", "memory=2GiB"})).exit_code, 0);
  for (const auto& [capacity, why] : {std::pair("map_slots=2", "map_slots and reduce_slots are of simulated clusters; say --slots"),
                                      std::pair("cpu=2", "a worker's cpu is its slots; say --slots")}) {
    const auto refused = run({program("weft"), "worker", "--master", cluster.address(), "--capacity", capacity});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has(refused.err, why) && one_line(refused.err)) << refused.err;
  }
  const auto embedded = run({program("cluster_probe"), "noop", "--quiet", "--threads", "2", "--demand", "cpu=3"});
  EXPECT_EQ(embedded.exit_code, 1);
  EXPECT_TRUE(has(embedded.err, "cpu=3") && one_line(embedded.err)) << embedded.err;
}

TEST(Worker, TellsItsCapacityAttributesAndWhatIsUsed) {
  Cluster cluster(0);
  cluster.add_worker({"--capacity", "memory=1GiB,disk_read=200MB", "--attribute", "gpu=1", "--attribute", "arch=x86", "--host",
                      "h1", "--rack", "r1"});
  ASSERT_TRUE(cluster.has_nodes(1));
  const std::string listed = cluster.admin({"node", "list"}).out;
  for (const char* part : {"h1", "r1", "cpu=2,memory=1GiB,disk_read=200000000B", "arch=x86,gpu=1", "cpu=0", "ready"})
    EXPECT_TRUE(has(listed, part)) << part << " in\n" << listed;
  Process job(cluster.job({"wait", "--tasks", "2", "--demand", "cpu=1,memory=256MiB", "--records", "1000000", "--marker",
                           cluster.scratch() / "begun"}),
              cluster.options());
  ASSERT_TRUE(eventually([&] { return exists(cluster.scratch() / "begun"); }));
  const std::string used = cluster.admin({"node", "list", "--json"}).out;
  EXPECT_TRUE(has(used, "\"used\":{\"cpu\":2,\"memory\":536870912")) << used;
  EXPECT_TRUE(has(used, "\"attributes\":{\"arch\":\"x86\",\"gpu\":\"1\"}")) << used;
}

TEST(Worker, WithNonsenseIsRefused) {
  for (const auto& [option, value, complaint] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"--capacity", "memory=many", "memory"}, {"--capacity", "gpus=1", "gpus"}, {"--attribute", "gpu", "NAME=VALUE"}}) {
    const auto result = run({program("weft"), "worker", "--master", "127.0.0.1:1", option, value});
    EXPECT_EQ(result.exit_code, 1) << option;
    EXPECT_TRUE(has(result.err, complaint)) << result.err;
  }
  Cluster cluster(0);
  Process& worker = cluster.add_worker({"--capacity", "cpu=3"});
  EXPECT_TRUE(eventually([&] { return has(worker.err_so_far(), "say --slots"); })) << worker.err_so_far();
}

TEST(Worker, RunsMoreTasksThanSlotsWhenTheyTakeLessThanASlot) {
  Cluster cluster(0);
  cluster.add_worker({"--slots", "1"});
  ASSERT_TRUE(cluster.has_nodes(1));
  // Each task waits until all four have begun.
  const auto result = run(cluster.job({"meet", "--tasks", "4", "--demand", "cpu=0.25", "--marker", cluster.scratch() / "met"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

/// What a sample tells of eight partitions, in parts of one. Of records that lie in order already, each task writes to few of them.
std::vector<double> sample_histogram(const std::string& mode, const std::string& output) {
  ScratchDirectory files;
  Cluster cluster(1, {"--event-log", files / "log"});
  const auto result = run(cluster.job({mode, "--tasks", "8", "--records", "80000", "--partitions", "8"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, output);
  const std::string log = read_file(files / "log");
  constexpr std::string_view kMember = "\"sample_histogram\":[";
  const auto at = log.find(kMember);
  if (at == std::string::npos) return {};
  const auto begin = at + kMember.size();
  std::istringstream counts(log.substr(begin, log.find(']', begin) - begin));
  std::vector<double> parts;
  for (std::string count; std::getline(counts, count, ',');) parts.push_back(std::stod(count));
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  for (double& part : parts) part /= sum;
  return parts;
}

TEST(EventLog, HasTheSampleThatTellsHowASortWillSpreadItsRecords) {
  const auto spread = sample_histogram("sort", "in place 80000\n");
  ASSERT_EQ(spread.size(), 8u);
  for (const double part : spread) EXPECT_NEAR(part, 1.0 / 8, 0.02);
}

TEST(EventLog, HasTheSampleThatTellsHowAPartitionerOfTheUserSpreadsRecords) {
  const auto spread = sample_histogram("regions", "grouped 80000\n");
  ASSERT_EQ(spread.size(), 8u);
  for (std::size_t i = 0; i < spread.size(); ++i) EXPECT_NEAR(spread[i], static_cast<double>(2 * i + 1) / 64, 0.02) << i;
}

TEST(EventLog, TellsWhatBecameOfEveryTaskAndJobInLinesOfJson) {
  ScratchDirectory files;
  {
    Cluster cluster(1, {"--event-log", files / "log"});
    ASSERT_EQ(run(cluster.job({"sums", "--tasks", "3", "--records", "3000", "--pool", "etl"})).exit_code, 0);
    ASSERT_EQ(run(cluster.job({"throw", "--max-attempts", "1"})).exit_code, 1);
  }
  const std::string log = read_file(files / "log");
  std::map<std::string, int> events;
  std::size_t begin = 0;
  for (std::size_t end = log.find('\n'); end != std::string::npos; begin = end + 1, end = log.find('\n', begin)) {
    const std::string line = log.substr(begin, end - begin);
    ASSERT_TRUE(line.starts_with("{\"time_ns\":") && line.ends_with("}")) << line;
    const auto at = line.find("\"event\":\"") + 9;
    ++events[line.substr(at, line.find('"', at) - at)];
  }
  EXPECT_EQ(begin, log.size());
  EXPECT_EQ(events["log_started"], 1);
  EXPECT_EQ(events["worker_joined"], 1);
  EXPECT_EQ(events["job_submitted"], 2);
  EXPECT_GE(events["plan_extended"], 2);
  EXPECT_GE(events["task_launched"], events["task_finished"] + events["task_failed"]);
  EXPECT_GT(events["task_finished"], 3);
  EXPECT_GE(events["task_failed"], 1);
  EXPECT_EQ(events["job_finished"], 1);
  EXPECT_EQ(events["job_failed"], 1);
  EXPECT_GE(events["worker_heartbeat"], 1) << "what it measured first";
  EXPECT_TRUE(has(log, "\"pool\":\"etl\"") && has(log, "is bad"));

  Cluster again(0, {"--event-log", files / "log"});  // continues it
  EXPECT_TRUE(read_file(files / "log").starts_with(log));
}

TEST(Explain, SaysWhatAWaitingJobWaitsFor) {
  Cluster cluster(1);
  Process job(cluster.job({"wait", "--tasks", "6", "--records", "1000000", "--marker", cluster.scratch() / "begun"}),
              cluster.options());
  ASSERT_TRUE(eventually([&] { return exists(cluster.scratch() / "begun"); }));
  const std::string text = cluster.admin({"job", "explain", "1"}).out;
  EXPECT_TRUE(has(text, "2 tasks running") && has(text, "no worker has cpu=1 free") && has(text, "waits for stage 0")) << text;
  const std::string json = cluster.admin({"job", "explain", "1", "--json"}).out;
  EXPECT_TRUE(has(json, "\"kind\":\"held\"") && has(json, "\"kind\":\"parents\"") && has(json, "\"tasks\":4")) << json;
  EXPECT_EQ(cluster.admin({"job", "kill", "1"}).exit_code, 0);
  EXPECT_TRUE(has(cluster.admin({"job", "explain", "1"}).out, "killed"));
  EXPECT_NE(cluster.admin({"job", "explain", "9"}).exit_code, 0);
}

/// Ten tasks in a share of three slots take four rounds, of which the first needs one task: two slots are lent, to the job that has
/// less to do. How long tasks take is known from an earlier run.
TEST(Explain, SaysWhatAJobLendsToWhomAndUntilWhen) {
  ScratchDirectory files;
  Cluster cluster(0, {"--scheduler", "carbyne", "--event-log", files / "log"});
  const auto job = [&](const std::string& tasks) {
    return cluster.job({"wait", "--tasks", tasks, "--records", tasks + "00", "--marker", files / "begun"});
  };
  cluster.add_worker({"--slots", "6"});
  ASSERT_TRUE(cluster.has_nodes(1));
  ASSERT_EQ(run(job("6")).exit_code, 0);
  cluster.worker(0).signal(SIGKILL);
  ASSERT_TRUE(cluster.has_nodes(0));
  std::vector<std::unique_ptr<Process>> jobs;
  for (const char* tasks : {"10", "6"}) {
    jobs.push_back(std::make_unique<Process>(job(tasks), cluster.options()));
    const std::string number = std::to_string(jobs.size() + 1);
    ASSERT_TRUE(eventually([&] { return has(cluster.admin({"job", "explain", number}).out, "(history: "); }));
  }
  cluster.add_worker({"--slots", "6"});
  std::string said;
  EXPECT_TRUE(eventually([&] {
    said = cluster.admin({"job", "explain", "2"}).out;
    return std::regex_search(said, std::regex("lent 2 slots to job 3 until [0-9]{2}:[0-9]{2}:[0-9]{2}, needs them then"));
  })) << said;
  for (const char* number : {"2", "3"}) EXPECT_EQ(cluster.admin({"job", "kill", number}).exit_code, 0);
  for (auto& one : jobs) (void)one->wait();
}

}  // namespace
}  // namespace weft::test

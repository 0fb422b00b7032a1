// Preemption on real processes: attempts really end, their slots are used by others, and nothing is counted twice.
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

class Preemption : public testing::Test {
 protected:
  void start(const std::vector<std::string>& scheduler) {
    std::vector<std::string> options = scheduler;
    options.insert(options.end(), {"--event-log", files / "log"});
    cluster = std::make_unique<Cluster>(0, options);
    cluster->add_worker({"--stop-grace", "100ms"});
    ASSERT_TRUE(cluster->has_nodes(1));
  }
  /// A job whose two tasks hold both slots in user code until `release` is called.
  std::unique_ptr<Process> holder(std::vector<std::string> options = {}) {
    std::vector<std::string> words{"spin", "--tasks", "2", "--records", "2000", "--marker", files / "hold"};
    words.insert(words.end(), options.begin(), options.end());
    auto job = std::make_unique<Process>(cluster->job(words), cluster->options());
    EXPECT_TRUE(eventually([&] { return exists(files / "hold"); })) << job->err_so_far();
    EXPECT_TRUE(eventually([&] { return has(cluster->admin({"node", "list", "--json"}).out, "\"running\":2"); }));
    return job;
  }
  void release() { write_file(files / "hold.go", ""); }
  /// The holder's output is whole, and its counters count every record once.
  void expect_whole(Process& job, const std::string& id) {
    const auto result = job.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected_sums(2000));
    const std::string counters = cluster->admin({"job", "counters", id, "--json"}).out;
    EXPECT_TRUE(has(counters, "\"generated\":2000")) << counters;
  }
  int lines_with(const std::string& part) {
    const std::string log = read_file(files / "log");
    int count = 0;
    for (auto at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) ++count;
    return count;
  }

  ScratchDirectory files;
  std::unique_ptr<Cluster> cluster;
};

TEST_F(Preemption, KillsTasksThatLoopInUserCodeAndGivesTheirSlotsToOthers) {
  start({"--scheduler-plugin", plugin("misbehaving"), "--scheduler", "preempting"});
  const auto low = holder();
  const auto high = run(cluster->job({"sums", "--tasks", "2", "--records", "1000", "--priority", "5"}));
  EXPECT_EQ(high.exit_code, 0) << high.err;
  EXPECT_EQ(high.out, expected_sums(1000));  // while the other job still loops
  EXPECT_GE(lines_with("\"event\":\"task_killed\""), 1);
  const std::string why = cluster->admin({"job", "explain", "1"}).out;
  EXPECT_TRUE(low->running()) << why;
  release();
  expect_whole(*low, "1");
}

TEST_F(Preemption, GivesAPoolItsMinimumShareUnderTheFairScheduler) {
  write_file(files / "pools.toml", "[[pool]]\nname = \"prod\"\nmin_share = 1\nmin_share_timeout = \"50ms\"\n");
  start({"--scheduler", "fair(pools=" + (files / "pools.toml") + ",preemption=true,interval=20ms,update=10ms)"});
  const auto low = holder({"--pool", "adhoc"});
  const auto high = run(cluster->job({"sums", "--tasks", "2", "--records", "1000", "--pool", "prod"}));
  EXPECT_EQ(high.exit_code, 0) << high.err;
  EXPECT_EQ(high.out, expected_sums(1000));
  EXPECT_GE(lines_with("\"event\":\"task_killed\""), 1);
  EXPECT_TRUE(low->running());
  release();
  expect_whole(*low, "1");
}

TEST_F(Preemption, OfJobsThatHearIsDoneWithoutKillingTheirExecutor) {
  start({"--scheduler-plugin", plugin("misbehaving"), "--scheduler", "fickle"});
  const auto result = run(cluster->job({"wait", "--tasks", "4", "--records", "40", "--marker", files / "begun"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(40));
  EXPECT_GE(lines_with("\"event\":\"task_killed\""), 1);
  const std::string counters = cluster->admin({"job", "counters", "1", "--json"}).out;
  EXPECT_TRUE(has(counters, "\"generated\":40")) << counters;
}

TEST_F(Preemption, WorksInTheEmbeddedEngineAndOnPrivateClusters) {
  for (const std::vector<std::string>& where : {std::vector<std::string>{"--threads", "2"}, {"--workers", "2"}}) {
    std::vector<std::string> command{program("cluster_probe"),
                                     "wait",
                                     "--quiet",
                                     "--tasks",
                                     "4",
                                     "--records",
                                     "40",
                                     "--marker",
                                     files / "begun",
                                     "--scheduler-plugin",
                                     plugin("misbehaving"),
                                     "--scheduler",
                                     "fickle"};
    command.insert(command.end(), where.begin(), where.end());
    const auto result = run(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected_sums(40));
  }
}

TEST_F(Preemption, OfATaskThatCannotBeStoppedFailsAnEmbeddedJobWithTheReason) {
  const auto result = run({program("cluster_probe"), "loop", "--quiet", "--tasks", "1", "--threads", "2", "--marker",
                           files / "begun", "--scheduler-plugin", plugin("misbehaving"), "--scheduler", "fickle"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, "was preempted and does not stop")) << result.err;
}

}  // namespace
}  // namespace weft::test

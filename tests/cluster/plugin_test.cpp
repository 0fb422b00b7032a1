// Schedulers of one's own: loaded from shared objects, refused when they do not fit, survived when they behave badly. And changing
// the scheduler of a running master.
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

std::vector<std::string> misbehaving(const std::string& scheduler) {
  return {"--scheduler-plugin", plugin("misbehaving"), "--scheduler", scheduler};
}
std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(SchedulerPlugin, ThatDoesNotFitIsRefusedWithTheReason) {
  for (const auto& [name, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"wrong_interface", "was built for version 999 of the scheduler interface, this program has version 8"},
           {"no_entry", "exports no weft_scheduler_plugin"},
           {"taken_name", "there is a scheduler 'fifo' already"},
           {"missing", "cannot load the scheduler plugin"}}) {
    for (const std::vector<std::string>& command : {std::vector<std::string>{program("weft"), "master", "--listen", "127.0.0.1:0"},
                                                    {program("cluster_probe"), "noop", "--quiet"}}) {
      const auto result = run(with(command, {"--scheduler-plugin", plugin(name)}));
      EXPECT_EQ(result.exit_code, 1) << name;
      EXPECT_TRUE(has(result.err, complaint) && has(result.err, plugin(name)) && one_line(result.err)) << result.err;
    }
  }
  const auto unknown = run({program("weft"), "master", "--listen", "127.0.0.1:0", "--scheduler", "preempting"});
  EXPECT_TRUE(has(unknown.err, "unknown scheduler 'preempting'")) << unknown.err;
}

TEST(SchedulerPlugin, ThatThrowsIsReportedAndTheJobGoesOn) {
  Cluster cluster(1, misbehaving("throwing"));
  const auto result = run(cluster.job({"sums", "--records", "5000"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(5000));
  EXPECT_TRUE(has(cluster.master().err_so_far(), "scheduler throwing threw: no idea")) << cluster.master().err_so_far();
  const std::string shown = cluster.admin({"scheduler", "show"}).out;
  EXPECT_TRUE(has(shown, "scheduler throwing\n") && has(shown, "threw: no idea") && has(shown, "preempting")) << shown;
  EXPECT_TRUE(has(cluster.admin({"scheduler", "show", "--json"}).out, "\"last_fault\":\"scheduler throwing threw: no idea\""));
}

TEST(SchedulerPlugin, ThatDecidesNonsenseWithoutEndIsCutOffReportedAndCanBeReplaced) {
  Cluster cluster(1, misbehaving("nonsense"));
  Process job(cluster.job({"sums", "--records", "5000"}), cluster.options());
  EXPECT_TRUE(eventually([&] {
    return has(cluster.master().err_so_far(), "was cut off after 10000 refused decisions in one call");
  })) << cluster.master().err_so_far();
  const std::string why = cluster.admin({"job", "explain", "1"}).out;
  EXPECT_TRUE(has(why, "no node 4711") && has(why, "cut off")) << why;
  EXPECT_EQ(cluster.admin({"scheduler", "use", "fifo"}).exit_code, 0);  // while the job waits
  const auto result = job.wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(5000));
}

TEST(SchedulerPlugin, ThatNeverReturnsEndsTheMasterAndEverybodyIsTold) {
  Cluster cluster(1, with(misbehaving("hanging"), {"--scheduler-timeout", "300ms"}));
  cluster.master().expect_death();
  const auto result = run(cluster.job({"sums", "--records", "5000"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, "the scheduler hanging has not returned for 300ms") && one_line(result.err)) << result.err;
  const auto master = cluster.master().wait();
  EXPECT_EQ(master.exit_code, 1);
  EXPECT_TRUE(has(master.err, "weft: the scheduler hanging has not returned for 300ms")) << master.err;
}

TEST(SchedulerPlugin, WhoseFactoryNeverReturnsIsRefusedEverywhereAndWhatWasInForceStays) {
  const std::string line = "the scheduler unmade cannot be made: its factory has not returned for ";
  const auto master =
      run(with({program("weft"), "master", "--listen", "127.0.0.1:0", "--scheduler-timeout", "200ms"}, misbehaving("unmade")));
  EXPECT_EQ(master.exit_code, 1);
  EXPECT_TRUE(has(master.err, line + "200ms") && one_line(master.err)) << master.err;

  Cluster cluster(1, with(misbehaving("preempting"), {"--scheduler-timeout", "2s"}));
  const auto refused = cluster.admin({"scheduler", "use", "unmade"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, line + "2s")) << refused.err;
  EXPECT_TRUE(has(cluster.admin({"scheduler", "show"}).out, "preempting"));
  EXPECT_EQ(run(cluster.job({"sums", "--records", "1000"})).out, expected_sums(1000));

  const auto alone = run(with({program("cluster_probe"), "sums", "--quiet", "--threads", "2"}, misbehaving("unmade")));
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_TRUE(has(alone.err, line + "5s") && one_line(alone.err)) << alone.err;
  const auto simulated =
      run(with({program("weft"), "simulate", "--quiet", "--workload", "generate:jobs=5", "--nodes", "3"}, misbehaving("unmade")));
  EXPECT_EQ(simulated.exit_code, 1);
  EXPECT_TRUE(has(simulated.err, line + "5s") && one_line(simulated.err)) << simulated.err;
}

TEST(SchedulerPlugin, ThatNeverReturnsEndsAnEmbeddedJobWithALine) {
  const auto result = run(with({program("cluster_probe"), "sums", "--quiet", "--threads", "2"}, misbehaving("hanging")));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(has(result.err, "the scheduler hanging has not returned for 5s") && one_line(result.err)) << result.err;
}

TEST(SchedulerPlugin, RunsInTheSimulatorAndEndsItWithALineWhenItNeverReturns) {
  const std::vector<std::string> simulate{program("weft"), "simulate", "--quiet", "--workload", "generate:jobs=5", "--nodes", "3"};
  const auto compared = run(with(with(simulate, misbehaving("preempting")), {"--scheduler", "fifo"}));
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_TRUE(has(compared.out, "preempting") && has(compared.out, "fifo")) << compared.out;
  const auto hanging = run(with(simulate, misbehaving("hanging")));
  EXPECT_EQ(hanging.exit_code, 1);
  EXPECT_TRUE(has(hanging.err, "the scheduler hanging has not returned for 5s") && one_line(hanging.err)) << hanging.err;
}

TEST(SchedulerConfiguration, IsReloadedWhileJobsRunAndRefusedWhenItIsWrong) {
  ScratchDirectory files;
  write_file(files / "pools.toml", "[[pool]]\nname = \"etl\"\nweight = 2\n");
  Cluster cluster(1, {"--scheduler", "fair(pools=" + (files / "pools.toml") + ")", "--journal", files / "journal"});
  const auto weight = [&] {
    const std::string pools = cluster.admin({"pool", "list", "--json"}).out;
    const auto at = pools.find("\"weight\":", pools.find("\"name\":\"etl\""));
    return at == std::string::npos ? pools : pools.substr(at + 9, pools.find(',', at) - at - 9);
  };
  EXPECT_EQ(weight(), "2");
  write_file(files / "pools.toml", "[[pool]]\nname = \"etl\"\nweight = 3\n");
  EXPECT_EQ(cluster.admin({"scheduler", "reload"}).exit_code, 0);
  EXPECT_EQ(weight(), "3");

  write_file(files / "pools.toml", "[[pool]]\nname = \"etl\"\nweight = 3\nwieght = 4\n");
  const auto wrong = cluster.admin({"scheduler", "reload"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(has(wrong.err, "pools.toml:4") && has(wrong.err, "wieght") && one_line(wrong.err)) << wrong.err;
  EXPECT_EQ(weight(), "3");
  cluster.master().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return has(cluster.master().err_so_far(), "old configuration of the scheduler stays"); }));
  write_file(files / "pools.toml", "[[pool]]\nname = \"etl\"\nweight = 7\n");
  cluster.master().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return weight() == "7"; })) << cluster.master().err_so_far();
  EXPECT_TRUE(has(cluster.admin({"scheduler", "show"}).out, "pools.toml"));
  EXPECT_EQ(run(cluster.job({"sums", "--records", "3000", "--pool", "etl"})).out, expected_sums(3000));
}

TEST(SchedulerConfiguration, ThatIsNotThereAnyMoreDoesNotKeepAMasterFromItsJournal) {
  ScratchDirectory files;
  {
    Cluster cluster(1, with(misbehaving("fickle"), {"--journal", files / "journal"}));
    EXPECT_EQ(run(cluster.job({"wait", "--tasks", "4", "--records", "40", "--marker", files / "begun"})).out, expected_sums(40));
    EXPECT_EQ(cluster.admin({"scheduler", "use", "fifo"}).exit_code, 0);
    EXPECT_EQ(run(cluster.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  }
  {
    Cluster again(1, {"--journal", files / "journal"});
    EXPECT_TRUE(has(again.admin({"job", "status", "1"}).out, "finished"));
    EXPECT_TRUE(has(again.admin({"scheduler", "show"}).out, "scheduler fsp\n"));
    EXPECT_EQ(run(again.job({"sums", "--records", "3000"})).out, expected_sums(3000));
  }
}

TEST(SchedulerConfiguration, PoolsAndQueuesAreListed) {
  ScratchDirectory files;
  Cluster cluster(1);
  Process job(cluster.job({"wait", "--tasks", "5", "--records", "1000000", "--pool", "etl", "--marker", files / "begun"}),
              cluster.options());
  ASSERT_TRUE(eventually([&] { return has(cluster.admin({"pool", "list", "--json"}).out, "\"running_tasks\":2"); }));
  const std::string pools = cluster.admin({"pool", "list", "--json"}).out;
  EXPECT_TRUE(has(pools, "\"name\":\"etl\"") && has(pools, "\"waiting_tasks\":3") && has(pools, "\"resources\":{\"cpu\":2"))
      << pools;
  EXPECT_TRUE(has(cluster.admin({"pool", "list"}).out, "etl"));
  EXPECT_TRUE(has(cluster.admin({"queue", "list"}).out, "CAPACITY %"));
}

}  // namespace
}  // namespace weft::test

// How the tasks of a job differ, as `weft job status` tells it while the job runs and afterwards.
#include <gmock/gmock.h>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

/// The number behind these members, each searched for behind the one before; -1 when there is none.
double number(const std::string& json, std::initializer_list<const char*> members) {
  std::size_t at = 0;
  for (const char* member : members) {
    const std::string name = "\"" + std::string(member) + "\":";
    at = json.find(name, at);
    if (at == std::string::npos) return -1;
    at += name.size();
  }
  return std::strtod(json.c_str() + at, nullptr);
}

TEST(TaskFigures, TellOfASlowTaskAndOfSpillsWhileTheJobRunsAndAfterwards) {
  const ScratchDirectory files;
  Cluster cluster(0, {"--speculation", "off", "--journal", files / "journal"});
  cluster.add_worker({"--memory", "16MiB"});
  ASSERT_TRUE(cluster.has_nodes(1));
  // Its last map ends when it is told to.
  const std::vector<std::string> words{"cross",        "--records", "40000",    "--tasks",       "4", "--growth", "40",
                                       "--partitions", "2",         "--marker", files / "marker"};
  Process job(cluster.job(words), cluster.options());
  const auto status = [&] { return cluster.admin({"job", "status", "1", "--json"}).out; };
  const auto third = [&] { return number(status(), {"stages", "task_figures", "seconds", "max"}); };
  ASSERT_TRUE(eventually([&] { return has(status(), "\"id\":0,") && number(status(), {"stages", "finished"}) == 3; }));
  const double others = third();
  EXPECT_GT(others, 0);
  EXPECT_EQ(number(status(), {"stages", "attempts", "first"}), 4);
  ASSERT_TRUE(eventually([&] { return number(status(), {"stages", "began_seconds", "seconds"}) > 3 * others + 0.5; }));
  for (const char* end : {".maps", ".go"}) write_file(files / ("marker" + std::string(end)), "");
  const ProcessResult ended = job.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;

  const std::string json = status();
  EXPECT_GT(number(json, {"stages", "task_figures", "seconds", "max"}), 2 * others) << json;
  EXPECT_LE(number(json, {"stages", "task_figures", "seconds", "median"}), others * 65 / 64) << json;
  EXPECT_GT(number(json, {"stages", "task_figures", "shuffle_bytes", "total"}), 1e6) << json;
  const std::string reduces = json.substr(json.rfind("\"id\":1,\"name\""));
  EXPECT_GT(number(reduces, {"task_figures", "spilled_bytes", "max"}), 0) << json;
  EXPECT_EQ(number(reduces, {"task_figures", "shuffle_read_bytes", "total"}),
            number(json, {"stages", "task_figures", "shuffle_bytes", "total"}));
  EXPECT_GT(number(reduces, {"task_figures", "output_bytes", "total"}), 0) << "what it collects";
  EXPECT_EQ(number(reduces, {"attempts", "finished"}), 2);
  const std::string text = cluster.admin({"job", "status", "1"}).out;
  EXPECT_THAT(text, HasSubstr("OF ITS TASKS"));
  EXPECT_THAT(text, HasSubstr("read from shuffles"));

  cluster.master().signal(SIGKILL);
  (void)cluster.master().wait();
  const Cluster again(0, {"--journal", files / "journal"});
  const auto figures = [](const std::string& all) { return all.substr(all.find("OF ITS TASKS")); };
  EXPECT_EQ(figures(again.admin({"job", "status", "1"}).out), figures(text)) << "a restarted master knows them, too";
}

TEST(TaskFigures, TasksThatSortReadTheirSplittersOnce) {
  Cluster cluster(1);
  const auto result = run(cluster.job({"sort", "--records", "80000", "--tasks", "4", "--partitions", "3"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "in place 80000\n");
  const std::string json = cluster.admin({"job", "status", "1", "--json"}).out;
  const std::string splitters = json.substr(json.find("splitters\"")), ranges = splitters.substr(splitters.find("\"id\":2,"));
  const double bytes = number(splitters, {"task_figures", "shuffle_bytes", "total"});
  EXPECT_GT(bytes, 4095) << json;
  EXPECT_EQ(number(ranges, {"task_figures", "shuffle_read_bytes", "total"}), 5 * bytes) << "the first task counts, too: " << json;
}

TEST(TaskFigures, CountTheAttemptThatWasKilledWithItsProcess) {
  const ScratchDirectory files;
  Cluster cluster(1);
  const auto result = run(cluster.job({"once", "--tasks", "2", "--records", "2000", "--marker", files / "died"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(2000));
  const std::string json = cluster.admin({"job", "status", "1", "--json"}).out;
  EXPECT_EQ(number(json, {"stages", "attempts", "first"}), 2) << json;
  EXPECT_GE(number(json, {"stages", "attempts", "retried"}), 1) << json;
  EXPECT_EQ(number(json, {"stages", "attempts", "finished"}), 2) << json;
  EXPECT_EQ(number(json, {"stages", "attempts", "retried"}), number(json, {"stages", "attempts", "failed"}) +
                                                                 number(json, {"stages", "attempts", "killed"}) +
                                                                 number(json, {"stages", "attempts", "lost"}))
      << json;
}

}  // namespace
}  // namespace weft::test

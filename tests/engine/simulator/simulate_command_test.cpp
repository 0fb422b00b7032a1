// The command lines of `weft simulate` and `weft advise`, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;
using testing::Not;

ProcessResult simulate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {WEFT_BIN_DIR "/weft", "simulate"});
  return run(arguments);
}

std::string data(const std::string& name) { return WEFT_SIMULATION_DATA "/" + name; }

TEST(SimulateCommand, DescribesAWorkload) {
  const auto result = simulate({"--workload", "swim:" + data("swim.tsv"), "--describe"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("jobs                      3\n"));
  EXPECT_THAT(result.out, HasSubstr("jobs without shuffle      33.3 %\n"));
  EXPECT_THAT(result.out, HasSubstr("heavy (shuffle > input)   33.33 % of the jobs, 97.8 % of the shuffle bytes"));
  const auto json = simulate({"--workload", "swim:" + data("swim.tsv"), "--describe", "--json"});
  EXPECT_TRUE(JsonReader(json.out, "out").skip().has_value());
}

TEST(SimulateCommand, ComparesSchedulersInTableJsonAndPage) {
  const ScratchDirectory directory;
  const std::vector<std::string> base{"--workload",  "generate:jobs=10,mean_gap=1s",
                                      "--nodes",     "4",
                                      "--cores",     "2",
                                      "--racks",     "2",
                                      "--scheduler", "fifo",
                                      "--scheduler", "sjf",
                                      "--seeds",     "2"};
  auto arguments = base;
  arguments.insert(arguments.end(), {"--report", directory / "page.html", "--csv", directory / "csv"});
  const auto table = simulate(arguments);
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("cluster: 4 nodes of cpu=2 in 2 racks"));
  EXPECT_THAT(table.out, HasSubstr("completion time, mean"));
  EXPECT_THAT(read_file(directory / "page.html"), HasSubstr("</html>"));
  EXPECT_THAT(read_file(directory / "csv/summary.csv"), HasSubstr("\nsjf,completion_mean,"));
  EXPECT_THAT(read_file(directory / "csv/racks.csv"), HasSubstr("\nfifo,2,0,1,"));
  arguments = base;
  arguments.emplace_back("--json");
  const auto json = simulate(arguments);
  EXPECT_EQ(json.exit_code, 0) << json.err;
  JsonReader reader(json.out, "out");
  EXPECT_TRUE(reader.skip().has_value());
  EXPECT_TRUE(reader.finish().has_value());
}

TEST(SimulateCommand, UsesTheDefaultOfMastersWhereNoneIsNamed) {
  const auto table = simulate({"--workload", "generate:jobs=2", "--nodes", "2", "--cores", "2", "--quiet"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("fsp"));
  EXPECT_THAT(table.out, Not(HasSubstr("fifo")));
}

TEST(SimulateCommand, ReadsAClusterFileAndLetsOptionsWin) {
  const ScratchDirectory directory;
  write_file(directory / "cluster.toml", "nodes = 3\ncores = 2\n[network]\nflows = true\nnic = \"125MB\"\n");
  const auto result = simulate({"--workload", "generate:jobs=2", "--cluster", directory / "cluster.toml", "--nodes", "5", "--set",
                                "storage.replicas=2", "--set", "heartbeat=1s"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cluster: 5 nodes of cpu=2 in 1 rack, heartbeats every 1s; NICs 119 MiB/s"));
  write_file(directory / "cluster.toml", "nodez = 3\n");
  const auto wrong = simulate({"--workload", "generate:jobs=2", "--cluster", directory / "cluster.toml"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("cluster.toml:1: unknown key 'nodez' (did you mean 'nodes'?)"));
}

TEST(SimulateCommand, NamesTheLargestNodeWhenADemandIsImpossible) {
  const auto result = simulate({"--workload", "generate:jobs=2,demand=(cpu=9)", "--nodes", "2", "--cores", "4"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("2 jobs were refused; the first, job 0: "));
  EXPECT_THAT(result.err, HasSubstr("node-0"));
}

TEST(SimulateCommand, ReplaysALog) {
  const auto result = simulate({"--from-log", data("event_log.jsonl"), "--scheduler", "fifo"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("compared with what happened, under fifo:"));
  EXPECT_THAT(result.out, HasSubstr("1 count   5.1 s"));
  EXPECT_THAT(result.out, HasSubstr("launches as in the log: "));
}

TEST(SimulateCommand, ValuesOfKeysMayHaveCommas) {
  const auto result = simulate({"--workload", "generate:jobs=2", "--set", "groups=count=3,cores=4;count=1,cores=16"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("3 nodes of cpu=4"), HasSubstr("1 node of cpu=16")));
}

TEST(SimulateCommand, ErrorsAreOneLine) {
  const auto missing = simulate({"--workload", "swim:/nonexistent"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.err, "weft: cannot read /nonexistent: No such file or directory\n");
  EXPECT_THAT(simulate({}).err, HasSubstr("give either --workload KIND:FILE or --from-log FILE"));
  EXPECT_EQ(simulate({"--nonsense"}).exit_code, 2);
  EXPECT_THAT(simulate({"--help"}).out, HasSubstr("rumen:FILE"));
  EXPECT_THAT(simulate({"--print-cluster"}).out, HasSubstr("[network]"));
  EXPECT_THAT(simulate({"--workload", "generate:help"}).out, HasSubstr("shuffle_ratio = "));
}

TEST(AdviseCommand, SaysOnOneScreenWhichSchedulerToUse) {
  const ScratchDirectory directory;
  const std::string log = directory / "run.jsonl";
  const auto made = simulate({"--workload", "generate:jobs=12,mean_gap=1s,maps=bins(60:1..4,40:10..20)", "--nodes", "2", "--cores",
                              "2", "--scheduler", "fifo", "--event-log", log});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto advise = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{WEFT_BIN_DIR "/weft", "advise", "--from-log", log, "--quick"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  const auto text = advise({});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("simulator: 12 jobs under fifo took "));
  EXPECT_THAT(text.out, HasSubstr("\nUse fsp in place of fifo.\n"));
  EXPECT_THAT(text.out, HasSubstr("costs: "));
  EXPECT_THAT(text.out, HasSubstr("so that nothing is gained by moving fewer; give --network, --nic and --disk"));
  EXPECT_LE(std::count(text.out.begin(), text.out.end(), '\n'), 40) << "one screen";
  const auto json = advise({"--json", "--goal", "p95"});
  EXPECT_THAT(json.out, HasSubstr("\"goal\":\"completion_p95\""));
  JsonReader reader(json.out, "out");
  EXPECT_TRUE(reader.skip().has_value());
  EXPECT_TRUE(reader.finish().has_value());
}

/// Which of the schedulers leaves jobs unfinished in an hour in which nothing keeps a node from taking their tasks.
std::string unfinished(const std::string& jobs, std::vector<std::string> arguments) {
  const ScratchDirectory directory;
  write_file(directory / "jobs.json", jobs);
  arguments.insert(arguments.end(), {"--workload", "jobs:" + directory / "jobs.json", "--until", "1h", "--json", "--quiet"});
  for (const char* scheduler :
       {"fifo", "fair", "capacity", "delay", "sjf", "srtf", "fsp", "tetris", "carbyne", "cogrs", "cogrs(inner=fair)",
        "shufflewatcher", "adaptive", "ras", "reverse_adaptive", "reverse_adaptive(without_forecast=backwards)"})
    arguments.insert(arguments.end(), {"--scheduler", scheduler});
  const auto result = simulate(arguments);
  std::string names;
  for (std::size_t at = 0; (at = result.out.find(R"({"scheduler":")", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 14, end = result.out.find('"', begin);
    const std::string_view of_one = std::string_view(result.out).substr(at, result.out.find(R"("jain_jobs")", at) - at);
    if (of_one.find(R"("jobs_not_finished":{"mean":0,)") == std::string_view::npos)
      names += result.out.substr(begin, end - begin) + " ";
  }
  EXPECT_THAT(result.out, HasSubstr(R"("jobs_not_finished":{"mean":)")) << result.err;
  return names;
}

TEST(EveryScheduler, EndsAJobWhoseTaskFailedOnTheOnlyFastNode) {
  EXPECT_EQ(unfinished(R"({"name":"j","stages":[{"tasks":8,"duration":10,"speedups":{"accelerator=gpu":5},)"
                       R"("failures":[{"task":7,"after":1,"environment":false}]}]})",
                       {"--nodes", "2", "--cores", "1", "--set", "groups=count=1,cores=1,attributes=(accelerator=gpu)"}),
            "");
}

TEST(EveryScheduler, EndsAJobWhoseTaskPausedWhileTheOtherNodesWereLost) {
  EXPECT_EQ(unfinished(R"({"name":"j","stages":[{"tasks":2,"duration":10,"failures":[{"task":0,"after":2,"environment":true}]}]})",
                       {"--nodes", "3", "--cores", "1", "--replicas", "0", "--set",
                        "faults.nodes=at=1s,node=2,repair=10h;at=2.1s,node=1,repair=10h"}),
            "");
}

TEST(EveryScheduler, EndsAJobWhoseReducePausedWithoutInput) {
  EXPECT_EQ(unfinished(R"({"name":"j","stages":[{"tasks":2,"duration":1},{"tasks":4,"durations":[1,1,1.1,1.2],"parents":[0],)"
                       R"("failures":[{"task":1,"after":0.9,"environment":true}]}]})",
                       {"--nodes", "1", "--cores", "2"}),
            "");
}

TEST(EveryScheduler, EndsJobsWhenTheLastForecastIsOver) {
  std::string jobs;
  for (int i = 0; i < 5; ++i)
    jobs += R"({"name":"j","stages":[{"tasks":8,"duration":10}]})"
            "\n";
  EXPECT_EQ(unfinished(jobs, {"--nodes", "4", "--cores", "2", "--set", "availability=from=20s,part=0.5;from=60s,part=1"}), "");
}

TEST(EveryScheduler, GivesNodesWithoutADeviceAsManyTasksWhenAnotherHasOne) {
  const ScratchDirectory directory;
  write_file(directory / "jobs.json", R"({"name":"j","stages":[{"tasks":160,"duration":30}]})");
  for (const char* scheduler : {"fsp", "ras", "ras(mode=paper)", "reverse_adaptive(without_forecast=backwards)"}) {
    const auto result = simulate({"--workload", "jobs:" + directory / "jobs.json", "--nodes", "10", "--cores", "8", "--set",
                                  "groups=count=1,cores=8,accelerator=1", "--scheduler", scheduler, "--json", "--quiet"});
    EXPECT_THAT(result.out, HasSubstr(R"("makespan":{"mean":60,)")) << scheduler;
  }
}

}  // namespace
}  // namespace weft::test

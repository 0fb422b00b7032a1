// The whole way from options to results: clusters from keys, several schedulers and seeds, replays.
#include "engine/simulator/experiment/experiment.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"
#include "tests/engine/simulator/workload_files.hpp"

namespace weft::simulator::experiment {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kSmall = "generate:jobs=20,mean_gap=1s,maps=6,reduces=2,map_time=3s,reduce_time=2s";

Options small(std::vector<std::string> schedulers = {"fifo"}) {
  Options options;
  options.workload = kSmall;
  options.schedulers = std::move(schedulers);
  options.cluster.nodes = 4;
  options.cluster.cores = 2;
  return options;
}

report::Comparison ran(const Options& options) {
  auto comparison = run(options, [](const std::string&) {});
  EXPECT_TRUE(comparison.has_value()) << comparison.error().to_string();
  return comparison ? std::move(*comparison) : report::Comparison{};
}

std::string error_of(const Options& options) {
  const auto comparison = run(options, [](const std::string&) {});
  return comparison ? "" : comparison.error().to_string();
}

Result<ClusterModel> built(const std::vector<std::string>& settings, const std::vector<HostSpec>& hosts = {}) {
  ClusterOptions options;
  Config config;
  options.declare(config);
  for (const auto& setting : settings) WEFT_TRY(config.set(setting));
  return options.build(hosts);
}

std::string build_error(const std::vector<std::string>& settings) {
  const auto model = built(settings);
  return model ? "" : model.error().to_string();
}

TEST(ClusterOptions, AvailabilityAndForecastAreFiles) {
  const TempDir directory = TempDir::create().value();
  const std::string path = directory.path() / "f.csv";
  const auto written = [&](const std::string& text) {
    EXPECT_TRUE(write_file(path, text).has_value());
    return path;
  };
  const auto model = built({"availability_file=" + written("# a day\nfrom,part,nodes\n0,1\n 6h , 0.5 , 80\n\n18h,0.25,\n"),
                            "forecast.file=" + path, "forecast.spread=0.1"});
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  ASSERT_EQ(model->availability.size(), 3u);
  EXPECT_EQ(model->availability[1].from, 6h);
  EXPECT_EQ(model->availability[1].part_of(79), 0.5);
  EXPECT_EQ(model->availability[1].part_of(80), 0);
  EXPECT_EQ(model->availability[2].part_of(99), 0.25);
  EXPECT_EQ(model->forecast.steps.size(), 3u);
  EXPECT_EQ(model->forecast.spread, 0.1);
  const auto error = [&](const std::string& text) { return build_error({"availability_file=" + written(text)}); };
  EXPECT_THAT(error("0,1\n5\n"), HasSubstr("f.csv:2: 'from,part' or 'from,part,nodes' was expected"));
  EXPECT_THAT(error("0,1.5\n"), HasSubstr("f.csv:1: part must be a number from 0 to 1, not '1.5'"));
  EXPECT_THAT(error("0,1,x\n"), HasSubstr("f.csv:1: nodes must be a whole number"));
  EXPECT_THAT(error("2h,1\n1h,1\n"), HasSubstr("f.csv:2: the times must ascend"));
  EXPECT_THAT(error("soon,1\n"), HasSubstr("f.csv:1: from: "));
  EXPECT_THAT(error("\n"), HasSubstr("f.csv: no steps"));
  EXPECT_THAT(build_error({"availability_file=" + path, "availability=from=0s"}), HasSubstr("give either"));
  EXPECT_THAT(build_error({"availability=from=0s,part=2"}), HasSubstr("available is 2; it must be from 0 to 1"));
}

TEST(ClusterOptions, MakeNodesOfSeveralKinds) {
  ClusterOptions options;
  Config config;
  options.declare(config);
  const char* toml = R"toml(
nodes = 54
cores = 2
racks = 6
memory = "4GiB"
groups = ["count=6,cores=4,speed=2.5,attributes=(accelerator=gpu,zone=a)"]
availability = ["from=0s,part=0.75", "from=1h,nodes=30"]
[network]
flows = true
nic = "125MB"
oversubscription = 5.0
[faults]
nodes = ["at=10s,node=3,silent=true,repair=1min", "at=20s,node=4,speed=0.5"]
)toml";
  const auto loaded = config.load_text(toml, "cluster.toml");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
  const auto model = options.build({});
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  ASSERT_EQ(model->groups.size(), 2u);
  EXPECT_EQ(model->groups[0].count, 54u);
  EXPECT_EQ(model->groups[0].capacity.memory, 4.0 * (1u << 30));
  EXPECT_EQ(model->groups[1].capacity.cpu, 4);
  EXPECT_EQ(model->groups[1].capacity.memory, 4.0 * (1u << 30)) << "as the others, unless it says otherwise";
  EXPECT_EQ(model->groups[1].speed, 2.5);
  EXPECT_EQ(model->groups[1].attributes.at("zone"), "a");
  EXPECT_EQ(model->racks, 6u);
  EXPECT_EQ(model->network.nic, 125e6);
  ASSERT_EQ(model->faults.nodes.size(), 2u);
  EXPECT_EQ(model->faults.nodes[0].repair, 1min);
  EXPECT_EQ(model->faults.nodes[0].speed, 0);
  EXPECT_EQ(model->faults.nodes[1].speed, 0.5);
  EXPECT_EQ(model->availability[1].nodes, 30u);
  EXPECT_EQ(model->availability[0].part_of(59), 0.75) << "of all nodes";
  EXPECT_EQ(model->availability[1].part_of(29), 1);
  EXPECT_EQ(model->availability[1].part_of(30), 0);
  EXPECT_THAT(describe(*model), HasSubstr("in 6 racks"));
}

TEST(ClusterOptions, TakeHostsAndRacksFromATrace) {
  const auto model = built({"trace_hosts=true", "cores=2"}, {{"a", "r2"}, {"b", "r1"}, {"c", "r2"}});
  ASSERT_TRUE(model.has_value()) << model.error().to_string();
  EXPECT_EQ(model->racks, 2u);
  EXPECT_THAT(model->groups[0].hosts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(model->groups[0].racks, ElementsAre(0u, 1u, 0u));
  EXPECT_EQ(built({"trace_hosts=true", "racks=2"}, {{"a", ""}, {"b", ""}})->racks, 2u) << "the trace knows no racks";
}

TEST(ClusterOptions, TakeShuffleModesUplinksAndInterference) {
  const auto memory = built({"network.flows=true", "shuffle.mode=memory", "shuffle.memory=2GiB", "interference.disk=80MB"});
  ASSERT_TRUE(memory.has_value()) << memory.error().to_string();
  EXPECT_EQ(memory->shuffle.mode, shuffle::Mode::memory);
  EXPECT_EQ(memory->shuffle.memory, std::uint64_t{2} << 30);
  EXPECT_EQ(memory->preplace, 0.05) << "as masters do";
  EXPECT_EQ(memory->interference.disk, 80e6);
  EXPECT_EQ(built({"network.flows=true", "shuffle.mode=memory", "preplace=0.3"})->preplace, 0.3);
  EXPECT_EQ(built({"network.flows=true", "shuffle.mode=pull"})->preplace, 1);
  EXPECT_THAT(build_error({"shuffle.mode=push"}), HasSubstr("shuffle.mode 'push' is not known: memory or pull"));
  EXPECT_THAT(build_error({"shuffle.mode=memory"}), HasSubstr("needs moves that take time"));
  EXPECT_THAT(build_error({"shuffle.memory=1GiB"}), HasSubstr("need a shuffle.mode"));
  EXPECT_THAT(build_error({"interference.cpu=-1"}), HasSubstr("it must be finite and not negative"));
  ClusterOptions options;
  options.racks = 4;
  options.rack_uplinks = {"rack=3,up=50MB,down=100MB"};
  EXPECT_THAT(options.build({}).error().to_string(), HasSubstr("limit nothing without network.flows"));
  options.flows = true;
  EXPECT_EQ(options.build({})->network.rack_uplinks.at(3), (schedulers::UplinkRate{50e6, 100e6}));
  options.rack_uplinks = {"rack=7,up=1MB"};
  EXPECT_THAT(options.build({}).error().to_string(), HasSubstr("an uplink of rack 7, but there are 4"));
}

TEST(ClusterOptions, NameNodesOfSeveralKinds) {
  const auto kinds = kinds_setting("20:cores=4,memory=1GiB,5:accelerator=1,attributes=(accelerator=fpga),3");
  ASSERT_TRUE(kinds) << kinds.error().to_string();
  EXPECT_EQ(*kinds, "count=20,cores=4,memory=1GiB;count=5,accelerator=1,attributes=(accelerator=fpga);count=3");
  const auto model = built({"kinds=" + *kinds, "cores=2"});
  ASSERT_TRUE(model);
  ASSERT_EQ(model->groups.size(), 3u);
  EXPECT_EQ(model->groups[0].count, 20u);
  EXPECT_EQ(model->groups[0].capacity.cpu, 4);
  EXPECT_TRUE(model->groups[0].attributes.empty());
  EXPECT_EQ(model->groups[1].capacity.cpu, 2) << "what holds for all";
  EXPECT_EQ(model->groups[1].capacity.memory, 0) << "the first kind's own";
  EXPECT_EQ(model->groups[1].capacity.accelerator, 1);
  EXPECT_EQ(model->groups[1].attributes.at("accelerator"), "fpga");
  EXPECT_EQ(model->groups[2].count, 3u);
  const auto devices = built({"nodes=3", "accelerator=2"});
  EXPECT_EQ(devices->groups[0].attributes.at("accelerator"), "gpu") << "unless it is said otherwise";
  for (const char* wrong : {"x:cores=2", "cores=2,5:cores=3", "5:cores=2,y:cores=3", "-1:cores=2"})
    EXPECT_THAT(kinds_setting(wrong).error().to_string(), HasSubstr("is no number of nodes; an example is 20:cores=4,5:"));
  EXPECT_THAT(build_error({"kinds=count=5,corse=4"}), HasSubstr("unknown key 'corse'"));
  EXPECT_THAT(build_error({"kinds=count=5", "nodes=3"}), HasSubstr("give either kinds"));
}

TEST(ClusterOptions, SayWhatIsWrong) {
  EXPECT_THAT(build_error({"nods=5"}), HasSubstr("unknown key 'nods' (did you mean 'nodes'?)"));
  EXPECT_THAT(build_error({"nodes=many"}), HasSubstr("nodes: 'many' is not an integer"));
  EXPECT_THAT(build_error({"nodes=0"}), HasSubstr("nodes: 0 is not between 1 and 1000000"));
  EXPECT_THAT(build_error({"trace_hosts=true"}), HasSubstr("the workload names no hosts"));
  EXPECT_THAT(build_error({"cores=-1"}), HasSubstr("capacity must be finite and not negative"));
  EXPECT_THAT(build_error({"network.nic=1GB"}), HasSubstr("limit nothing without network.flows"));
  EXPECT_THAT(build_error({"network.round_trip=10ms"}), HasSubstr("adds nothing without network.flows"));
  EXPECT_THAT(build_error({"network.flows=true", "network.round_trip=-10ms"}), HasSubstr("is not a duration"));
  EXPECT_THAT(build_error({"faults.stragglers=2"}), HasSubstr("it must be from 0 to 1"));
  EXPECT_THAT(build_error({"racks=0"}), HasSubstr("racks: 0 is not between 1 and"));
  ClusterOptions options;
  Config config;
  options.declare(config);
  EXPECT_THAT(config.load_text("nodes = 5\n[network]\nnik = 5\n", "c.toml").error().to_string(),
              HasSubstr("c.toml:3: unknown key 'network.nik' (did you mean 'network.nic'?)"));
  options.groups = {"count=5,core=3"};
  EXPECT_THAT(options.build({}).error().to_string(),
              HasSubstr("groups 'count=5,core=3': unknown key 'core' (did you mean 'cores'?)"));
  options.groups = {"count=5,attributes=(gpu)"};
  EXPECT_THAT(options.build({}).error().to_string(), HasSubstr("attribute 'gpu' is not of the form NAME=VALUE"));
  options.groups = {"count=5,attributes=(gpu=1,gpu=2)"};
  EXPECT_THAT(options.build({}).error().to_string(), HasSubstr("attribute gpu is given twice"));
  options.groups = {};
  options.node_faults = {"node=500"};
  EXPECT_THAT(options.build({}).error().to_string(), HasSubstr("node 500 is to die, but there are"));
}

TEST(Experiment, RunsEverySchedulerWithEverySeed) {
  Options options = small({"fifo", "sjf"});
  options.seeds = 3;
  const auto comparison = ran(options);
  ASSERT_EQ(comparison.schedulers.size(), 2u);
  EXPECT_THAT(comparison.seeds, ElementsAre(1u, 2u, 3u));
  for (const auto& runs : comparison.schedulers) {
    ASSERT_EQ(runs.runs.size(), 3u);
    EXPECT_NE(runs.runs[0].jobs[5].submitted, runs.runs[1].jobs[5].submitted) << "a generated workload has the run's seed";
    for (const RunResult& one : runs.runs) {
      EXPECT_EQ(one.jobs.size(), 20u);
      EXPECT_EQ(report::completion_seconds(one).size(), 20u);
      EXPECT_FALSE(one.series.samples.empty());
    }
  }
  EXPECT_EQ(comparison.alone[0][0], 5s);
}

TEST(Experiment, RunsSideBySideComeOutAsAlone) {
  Options options = small({"fifo", "sjf", "drf", "fair", "tetris", "fifo"});
  options.seeds = 5;  // no multiple of the processors
  const auto comparison = ran(options);
  ASSERT_EQ(comparison.schedulers.size(), 6u);
  EXPECT_THAT(comparison.seeds, ElementsAre(1u, 2u, 3u, 4u, 5u));
  for (const auto& runs : comparison.schedulers) {
    ASSERT_EQ(runs.runs.size(), 5u);
    Options alone = options;
    alone.schedulers = {runs.scheduler};
    alone.seeds = 1;
    for (std::size_t i = 0; i < 5; ++i) {
      alone.seed = comparison.seeds[i];
      EXPECT_EQ(runs.runs[i].scheduler, runs.scheduler);
      EXPECT_EQ(runs.runs[i].seed, alone.seed);
      EXPECT_EQ(runs.runs[i].event_digest, ran(alone).schedulers[0].runs[0].event_digest) << runs.scheduler;
    }
  }
}

TEST(Experiment, EqualSeedsWriteEqualEventLogs) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  const auto log = [&](std::uint64_t seed, const std::string& name) {
    Options options = small();
    options.seed = seed;
    options.event_log = directory->path() / name;
    ran(options);
    return read_file(options.event_log).value();
  };
  const std::string first = log(5, "a");
  EXPECT_GT(first.size(), 10'000u);
  EXPECT_EQ(first, log(5, "b"));
  EXPECT_NE(first, log(6, "c"));
}

TEST(Experiment, AReplayUnderTheSameSchedulerIsWhatHappened) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  Options original = small({"sjf"});
  original.workload = "generate:jobs=20,mean_gap=1s,maps=uniform(1,30),reduces=2,map_time=uniform(1s,9s),reduce_time=2s";
  original.event_log = directory->path() / "run.jsonl";
  const auto first = ran(original);

  Options replay;
  replay.from_log = original.event_log;
  const auto same = ran(replay);
  ASSERT_EQ(same.schedulers.size(), 1u);
  EXPECT_EQ(same.schedulers[0].scheduler, "sjf") << "from the log";
  ASSERT_EQ(same.replays.size(), 1u);
  ASSERT_EQ(same.replays[0].jobs.size(), 20u);
  EXPECT_LT(same.replays[0].mean_absolute_error(), 0.01);
  EXPECT_NEAR(same.replays[0].makespan_error(), 0, 0.001);
  EXPECT_NEAR(same.replays[0].recorded_makespan, std::chrono::duration<double>(first.schedulers[0].runs[0].makespan).count(),
              0.001);

  replay.schedulers = {"fifo"};
  const auto other = ran(replay);
  EXPECT_GT(other.replays[0].mean_absolute_error(), 0.01) << "another scheduler, another outcome";
  replay.cluster.nodes = 40;
  EXPECT_LT(ran(replay).replays[0].simulated_makespan, other.replays[0].simulated_makespan);
}

TEST(Experiment, AReplayOnMoreNodesKeepsTheirShape) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  Options original = small();
  original.cluster.memory = 512u << 20;
  original.event_log = directory->path() / "run.jsonl";
  ran(original);
  Options replay;
  replay.from_log = original.event_log;
  const auto cluster = [&] {
    for (const auto& [label, value] : ran(replay).facts)
      if (label == "cluster") return value;
    return std::string();
  };
  EXPECT_THAT(cluster(), HasSubstr("4 nodes of cpu=2,memory=512MiB in 1 rack"));
  replay.cluster.nodes = 50;
  EXPECT_THAT(cluster(), HasSubstr("50 nodes of cpu=2,memory=512MiB in 1 rack"));
  replay.cluster.cores = 8;
  EXPECT_THAT(cluster(), HasSubstr("50 nodes of cpu=8,memory=512MiB")) << "what is said of nodes holds, and nothing else changes";
  replay.cluster.nodes = 0;
  replay.cluster.memory = 1u << 30;
  EXPECT_THAT(cluster(), HasSubstr("4 nodes of cpu=8,memory=1GiB"));
}

TEST(Experiment, AReplayUnderSeveralSeedsSaysThatNothingIsRandom) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  Options original = small();
  original.event_log = directory->path() / "run.jsonl";
  ran(original);
  Options replay;
  replay.from_log = original.event_log;
  replay.schedulers = {"fifo", "fair"};
  replay.seeds = 4;
  const auto comparison = ran(replay);
  EXPECT_THAT(comparison.facts, testing::Contains(testing::Pair("randomness", HasSubstr("the same with every seed"))));
  for (const auto& row : report::summary_rows(comparison)) {
    if (row[0].find("time of") != std::string::npos || row[0].find("launches per") != std::string::npos) continue;  // are measured
    for (const auto& cell : row) EXPECT_EQ(cell.find("±"), std::string::npos) << row[0] << ": " << cell;
  }
  original.event_log.clear();
  original.seeds = 2;
  EXPECT_THAT(ran(original).facts, testing::Not(testing::Contains(testing::Pair("randomness", testing::_))));
}

TEST(Experiment, AReplayHasTheFailuresAndTheLostNodesOfTheLog) {
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  Options original = small({"fifo"});
  original.workload = "generate:jobs=10,mean_gap=1s,maps=uniform(1,30),reduces=2,map_time=uniform(1s,9s),reduce_time=2s";
  original.event_log = directory->path() / "run.jsonl";
  original.cluster.model.faults.attempt_failures = 0.05;
  original.cluster.node_faults = {"at=5s,node=1,repair=10s", "at=12s,node=0"};
  const auto first = ran(original);
  const RunResult& was = first.schedulers[0].runs[0];
  ASSERT_GT(was.failed_attempts, 3u);
  ASSERT_EQ(was.node_deaths, 2u);

  Options replay;
  replay.from_log = original.event_log;
  const auto again = ran(replay);
  const RunResult& is = again.schedulers[0].runs[0];
  EXPECT_EQ(is.node_deaths, 2u);
  EXPECT_EQ(is.failed_attempts, was.failed_attempts);
  EXPECT_LT(std::abs(again.replays.at(0).makespan_error()), 0.02);
}

TEST(Experiment, OneMachineTakesDemandsAsTheyAre) {
  Options options;
  options.workload = "carbyne:" + workloads::sample("carbyne.txt");
  options.one_machine = 1;
  const auto comparison = ran(options);
  EXPECT_EQ(report::completion_seconds(comparison.schedulers[0].runs[0]).size(), 2u);
  EXPECT_FALSE(refusal(comparison).has_value());
}

TEST(Experiment, RefusesWhatNoNodeCanTakeAndRunsTheRest) {
  Options options = small();
  options.workload = "generate:jobs=10,mean_gap=1s,maps=2,reduces=1,class=small(weight=1),class=huge(weight=1,demand=(cpu=3))";
  const auto comparison = ran(options);
  const auto refused = refusal(comparison);
  ASSERT_TRUE(refused.has_value());
  EXPECT_THAT(refused->to_string(), HasSubstr("jobs were refused; the first, huge "));
  EXPECT_THAT(refused->to_string(), HasSubstr("node-")) << "the largest node is named";
  EXPECT_GT(report::completion_seconds(comparison.schedulers[0].runs[0]).size(), 0u);
}

TEST(Experiment, WritesTheEventsOfDeadlinesUnderOneScheduler) {
  const TempDir directory = TempDir::create().value();
  Options options = small();
  options.deadlines = true;
  options.event_log = directory.path() / "log";
  EXPECT_EQ(ran(options).schedulers.size(), 1u);
}

TEST(Experiment, SaysWhichJobsNeverFinished) {
  Options options = small();
  EXPECT_FALSE(never_finished(options, ran(options)));
  options.cluster.node_faults = {"at=4s,node=0", "at=4s,node=1", "at=4s,node=2", "at=4s,node=3"};
  const auto comparison = ran(options);
  const auto stuck = never_finished(options, comparison);
  ASSERT_TRUE(stuck);
  EXPECT_THAT(stuck->to_string(), HasSubstr(" never finished; the first, "));
  EXPECT_THAT(stuck->to_string(), HasSubstr("under fifo: after "));
  options.until = 10s;
  EXPECT_FALSE(never_finished(options, ran(options))) << "it was to end then";
}

TEST(Experiment, BoundsThePointsOverTime) {
  Options options = small();
  for (const Time step : {Time(1ns), Time(100us)}) {
    options.series_step = step;
    EXPECT_THAT(error_of(options), HasSubstr("--step: about "));
    EXPECT_THAT(error_of(options), HasSubstr("at most 100000 are kept: give at least "));
  }
  options.series_step = 10ms;
  EXPECT_EQ(error_of(options), "");
  options.series_step = 1us;
  options.until = 10ms;
  EXPECT_EQ(error_of(options), "") << "no run is longer than that";
}

TEST(Experiment, SaysWhatIsWrong) {
  EXPECT_THAT(error_of({}), HasSubstr("give either --workload KIND:FILE or --from-log FILE"));
  Options options = small({"nonsense"});
  EXPECT_THAT(error_of(options), HasSubstr("unknown scheduler 'nonsense' (known: "));
  options = small({"fifo", "sjf"});
  options.event_log = "/tmp/x";
  EXPECT_THAT(error_of(options), HasSubstr("--event-log is of one run"));
  options = small({});
  options.event_log = "/tmp/x";
  options.deadlines = true;
  EXPECT_THAT(error_of(options), HasSubstr("--event-log is of one run, and --deadlines compares several schedulers"));
  for (const double units : {-1.0, std::nan(""), HUGE_VAL}) {
    options = small();
    options.one_machine = units;
    EXPECT_THAT(error_of(options), HasSubstr("--one-machine needs a positive number of units"));
  }
  for (const char* setting : {"nodes=3", "cores=4", "racks=3", "memory=1GiB", "reduce_slots=1", "speed=2", "trace_hosts=true"}) {
    options = small();
    options.cluster = ClusterOptions();
    Config config;
    options.cluster.declare(config);
    ASSERT_TRUE(config.set(setting));
    options.one_machine = 5;
    EXPECT_THAT(error_of(options), HasSubstr("--one-machine is the whole cluster")) << setting;
  }
  options = small();
  options.seeds = 0;
  EXPECT_THAT(error_of(options), HasSubstr("--seeds must be at least 1"));
  options = small();
  options.event_log = "/nonexistent/dir/log";
  EXPECT_THAT(error_of(options),
              HasSubstr("the event log: cannot write /nonexistent/dir/log: there is no directory /nonexistent/dir"));
  options = small();
  options.plugins = {"/nonexistent/plugin.so"};
  EXPECT_THAT(error_of(options), HasSubstr("/nonexistent/plugin.so"));
}

}  // namespace
}  // namespace weft::simulator::experiment

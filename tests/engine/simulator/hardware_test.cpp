// Nodes that are not all alike: speeds by node and by job, parts of nodes over time, forecasts of them.
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/profiles/history.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator::test {
namespace {

/// One regular node and one with an accelerator of general speed 2.
ClusterModel accelerated() {
  ClusterModel model = cluster(1, 1);
  model.groups.push_back(model.groups[0]);
  model.groups[1].speed = 2;
  model.groups[1].attributes = {{"accelerator", "gpu"}, {"zone", "a"}};
  return model;
}

TEST(Hardware, AJobIsFasterOnTheNodesThatSuitIt) {
  StageSpec plain = stage(2, seconds(100)), fit = stage(2, seconds(100));
  fit.speedups = {{"accelerator", "fpga", 50}, {"accelerator", "gpu", 25}, {"zone", "a", 4}};
  EXPECT_EQ(run(jobs({job(Time(0), {plain})}), accelerated()).work.useful, seconds(150)) << "100 s and 50 s";
  const RunResult result = run(jobs({job(Time(0), {fit})}), accelerated());
  EXPECT_EQ(result.work.useful, seconds(102)) << "100 s, and 25 times the node's speed";
  ClusterModel other = accelerated();
  other.groups[1].attributes = {{"accelerator", "tpu"}};
  EXPECT_EQ(run(jobs({job(Time(0), {fit})}), other).work.useful, seconds(150)) << "no attribute fits";
  fit.speedups[1].factor = 0;
  EXPECT_FALSE(simulate(jobs({job(Time(0), {fit})}), accelerated(), schedulers::make_scheduler("fifo").value()));
}

/// Four cores, of which two are there from 10 s to 30 s: two tasks at a time, while the first four end undisturbed.
TEST(Hardware, APartOfANodeTakesAPartOfItsTasks) {
  ClusterModel model = cluster(1, 4);
  model.availability = {{seconds(5), 1, 0.7}, {seconds(30), 1, 1}};
  RunOptions options;
  options.series_step = seconds(10);
  const RunResult result = run(jobs({job(Time(0), {stage(12, seconds(10))})}), model, "fifo", options);
  EXPECT_EQ(result.makespan, seconds(40)) << "4 + 2 + 2 + 4";
  ASSERT_EQ(result.series.samples.size(), 4u);
  EXPECT_NEAR(result.series.samples[0].capacity.cpu, (4 + 2.8) / 2, 1e-9);
  EXPECT_NEAR(result.series.samples[1].used.cpu, 2, 1e-9) << "a part of a core holds no task";
  EXPECT_NEAR(result.series.samples[3].used.cpu, 4, 1e-9);
}

std::vector<std::vector<schedulers::CapacityStep>> forecasts(const ClusterModel& model) {
  std::vector<std::vector<schedulers::CapacityStep>> all;
  RunOptions options;
  options.on_event = [&all](Time, const master::Event& event) {
    if (const auto* joined = std::get_if<master::WorkerJoined>(&event)) all.push_back(joined->forecast);
  };
  run(jobs({job(Time(0), {stage(1, seconds(1))})}), model, "fifo", options);
  return all;
}

TEST(Hardware, ForecastsAreTheTruthOrWithinTheirError) {
  ClusterModel model = cluster(2, 10);
  model.availability = {{Time(0), 2, 0.5}, {seconds(60), 1, 1}};
  const auto truth = forecasts(model);
  ASSERT_EQ(truth.size(), 2u);
  ASSERT_EQ(truth[1].size(), 2u);
  EXPECT_EQ(truth[0][0].available.cpu, 5);
  EXPECT_EQ(truth[0][1].from, seconds(60));
  EXPECT_EQ(truth[0][1].available.cpu, 10);
  EXPECT_EQ(truth[1][1].available.cpu, 0) << "only the first node is there";
  model.forecast.spread = 0.2;
  const auto told = forecasts(model);
  EXPECT_NE(told[0][0].available.cpu, 5);
  EXPECT_NEAR(told[0][0].available.cpu, 5, 1);
  EXPECT_EQ(told[0][0].available, told[1][0].available) << "the error is that of the forecast, not of a node";
  EXPECT_LE(told[0][1].available.cpu, 10) << "never more than there is";
  EXPECT_EQ(told, forecasts(model)) << "by the seed";
  model.forecast = {{{seconds(7), 2, 0.25}}, 0.5, 0};
  EXPECT_EQ(forecasts(model)[1].front().available.cpu, 3.75) << "a forecast of its own, too high by half";
  EXPECT_EQ(forecasts(model)[1].front().from, seconds(7));
}

TEST(Hardware, TasksThatNoPartOfANodeCanHoldAreRefused) {
  ClusterModel model = cluster(2, 4);
  StageSpec large = stage(1, seconds(10));
  large.demand.cpu = 3;
  const Workload workload = jobs({job(Time(0), {large}), job(seconds(20), {large})});
  model.availability = {{seconds(15), 2, 0.5}};
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.jobs[0].ended, seconds(10)) << "it came while nodes were whole";
  EXPECT_EQ(result.jobs[1].outcome, Outcome::refused);
  EXPECT_EQ(result.jobs[1].error, "stage stage: from 20 s on no node has so much available for a task: cpu=3");
  EXPECT_EQ(result.end, seconds(20)) << "nobody waits for it";
  model.availability.push_back({seconds(40), 1, 1});
  EXPECT_EQ(run(workload, model).jobs[1].ended, seconds(50)) << "one node will be whole again";
}

/// One node without a device and one that lends one, four slots each.
ClusterModel lending() {
  ClusterModel model = cluster(1, 4);
  model.groups.push_back(model.groups[0]);
  model.groups[1].capacity.accelerator = 1;
  model.groups[1].attributes = {{"accelerator", "gpu"}};
  return model;
}

StageSpec on_devices(std::uint32_t tasks, double factor) {
  StageSpec spec = stage(tasks, seconds(100));
  spec.speedups = {{"accelerator", "gpu", factor}};
  return spec;
}

/// How many tasks were launched with a device.
std::size_t with_device(const Workload& workload) {
  std::size_t count = 0;
  RunOptions options;
  options.on_command = [&count](Time, const master::Command& command) {
    const auto* launch = std::get_if<master::LaunchTask>(&command);
    if (launch != nullptr && launch->device) ++count;
  };
  run(workload, lending(), "fifo", options);
  return count;
}

TEST(Hardware, ATaskIsFasterWhileItHoldsADevice) {
  const RunResult result = run(jobs({job(Time(0), {on_devices(17, 10)})}), lending());
  EXPECT_EQ(result.makespan, seconds(100)) << "seven of the first eight take so long, and the device does all others meanwhile";
  EXPECT_EQ(result.work.useful, seconds(7 * 100 + 10 * 10));
  EXPECT_EQ(with_device(jobs({job(Time(0), {stage(17, seconds(100))})})), 0u) << "it has no function for devices";
}

TEST(Hardware, TasksLeaveADeviceThatIsSlowerThanTheHost) {
  EXPECT_EQ(with_device(jobs({job(Time(0), {on_devices(100, 0.5)})})), 4u) << "one that compiles, and three that are measured";
  EXPECT_GT(with_device(jobs({job(Time(0), {on_devices(100, 2)})})), 16u);
}

/// What a master learns of a run, and what a replay takes from its event log.
TEST(Hardware, ProfilesAndReplaysAgreeOnTheSpeedOfDevices) {
  profiles::History history;
  RunOptions options;
  options.history = &history;
  std::string log;
  options.on_event = [&log](Time at, const master::Event& event) { log += master::event_json(at, event) + '\n'; };
  options.on_command = [&log](Time at, const master::Command& command) {
    if (const auto line = master::command_json(at, command)) log += *line + '\n';
  };
  const Workload workload = jobs({job(Time(0), {on_devices(200, 5)})});
  const RunResult was = run(workload, lending(), "fifo", options);
  ASSERT_EQ(history.programs().size(), 1u);
  const profiles::StageHistory& learned = history.programs().begin()->second.begin()->second;
  ASSERT_TRUE(learned.kinds.contains("accelerator=gpu"));
  EXPECT_NEAR(learned.kinds.at("").value() / learned.kinds.at("accelerator=gpu").value(), 5, 0.3);

  auto directory = TempDir::create();
  ASSERT_TRUE(directory);
  const std::string path = directory->path() / "run.jsonl";
  ASSERT_TRUE(write_file(path, log));
  const auto recording = workloads::read_event_log(path);
  ASSERT_TRUE(recording) << recording.error().to_string();
  const StageSpec& read = recording->workload.jobs.at(0).stages.at(0);
  ASSERT_EQ(read.speedups.size(), 1u);
  EXPECT_NEAR(read.speedups[0].factor, 5, 1e-6);
  const RunResult is = run(recording->workload, lending());
  EXPECT_EQ(is.makespan, was.makespan);
  EXPECT_EQ(is.work.useful, was.work.useful);
}

}  // namespace
}  // namespace weft::simulator::test

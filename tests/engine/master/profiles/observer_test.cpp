// The second run of a program is predicted by the first: in the simulator, whose tasks take what they are told to.
#include "engine/master/profiles/observer.hpp"

#include <gmock/gmock.h>

#include "base/clock.hpp"
#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/profiles/samples.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::profiles {
namespace {

using namespace simulator::test;
using namespace test;
using simulator::JobSpec;
using simulator::Time;
using simulator::Workload;
using testing::HasSubstr;

/// Maps that take a second for each 100 MB they read and shuffle half of it, and reduces in the same time by bytes. Nobody tells
/// how long tasks take.
JobSpec words(Time arrival, double size) {
  const auto bytes = static_cast<std::uint64_t>(size * 800e6);
  JobSpec spec = job(
      arrival, {stage(8, Time(static_cast<std::int64_t>(size * 1e9))), stage(4, Time(static_cast<std::int64_t>(size * 1e9)), {0})});
  spec.name = "words";
  spec.stages[0].input_bytes = bytes;
  spec.stages[0].shuffle_bytes = bytes / 2;
  for (auto& one : spec.stages) one.estimate = Time(0);
  return spec;
}

struct Told {
  std::vector<std::optional<schedulers::StageProfile>> profiles;
};

std::vector<Told> run_all(const Workload& workload, History* history, std::string* log = nullptr) {
  std::vector<Told> told;
  simulator::RunOptions options;
  options.history = history;
  options.on_event = [&](Time at, const master::Event& event) {
    if (const auto* extended = std::get_if<master::PlanExtended>(&event)) told.push_back({extended->profiles});
    if (log != nullptr) *log += master::event_json(at, event) + "\n";
  };
  run(workload, cluster(2, 4), "srtf", options);
  return told;
}

TEST(Profiles, PredictTheSecondRunAndTwiceTheInput) {
  History history;
  const auto told = run_all(jobs({words(Time(0), 1), words(seconds(100), 1), words(seconds(200), 2)}), &history);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_FALSE(told[0].profiles[0] || told[0].profiles[1]) << "nothing is known";
  ASSERT_TRUE(told[1].profiles[0] && told[1].profiles[1]);
  EXPECT_NEAR(in_seconds(told[1].profiles[0]->duration()), 1, 0.01);
  EXPECT_NEAR(in_seconds(told[1].profiles[1]->duration()), 1, 0.01);
  EXPECT_NEAR(told[1].profiles[0]->output_ratio, 0.5, 0.01);
  EXPECT_NEAR(in_seconds(told[2].profiles[0]->duration()), 2, 0.05);
  EXPECT_NEAR(in_seconds(told[2].profiles[1]->duration()), 2, 0.05);
  const StageHistory& maps = *history.find({"words", StageId(0)});
  EXPECT_EQ(maps.runs, 3u);
  EXPECT_LT(maps.mean_error(), 0.03);
  EXPECT_GT(maps.error_weight + 1, 1.4) << "the runs that were predicted count";
}

TEST(Profiles, AreInTheLogAndReplayedFromIt) {
  History history;
  std::string log;
  (void)run_all(jobs({words(Time(0), 1), words(seconds(100), 1)}), &history, &log);
  EXPECT_THAT(log, HasSubstr("\"profile\":{\"constant_ns\":"));
  EXPECT_THAT(log, HasSubstr("\"output_ratio\":0.5"));
  Workload replay = jobs({words(Time(0), 1)});
  schedulers::StageProfile recorded;
  recorded.constant = seconds(7);
  replay.jobs[0].stages[0].profile = recorded;
  const auto told = run_all(replay, &history);
  EXPECT_EQ(told[0].profiles[0]->duration(), Time(seconds(7))) << "what the log says, and not what is known now";
}

TEST(Profiles, OfStagesThatTheProgramKnowsBetterChangeNothing) {
  Workload workload = jobs({words(Time(0), 1), words(seconds(100), 1)});
  for (auto& one : workload.jobs)
    for (auto& stage : one.stages) stage.estimate = seconds(1);
  History history;
  std::string with, without;
  (void)run_all(workload, &history, &with);
  (void)run_all(workload, nullptr, &without);
  EXPECT_NE(with, without);
  for (std::size_t at = with.find("\"profile\""); at != std::string::npos; at = with.find("\"profile\""))
    with.erase(at, with.find("\"splits\"", at) - at);
  EXPECT_EQ(with, without) << "but for the profiles themselves";
}

/// A core beside which an observer learns, and what it says for the log.
class ObservedCore : public testing::Test {
 protected:
  void begin(double slow_start = 1) {
    master::CoreOptions options;
    options.slow_start = slow_start;
    driver.emplace(options);
    driver->join(1, 8);
  }
  std::optional<std::string> apply(master::Event event) {
    driver->commands.clear();
    auto said = observer.before(driver->now, driver->core.view(), event);
    const auto applied = driver->apply(std::move(event));
    EXPECT_TRUE(applied) << applied.error().to_string();
    observer.after(driver->core.view(), driver->commands, 1);
    return said;
  }
  void submit(std::uint64_t job) {
    master::JobSubmitted event;
    event.job = JobId(job);
    event.name = "words";
    apply(std::move(event));
  }
  std::optional<std::string> extend(std::uint64_t job, std::vector<plan::Stage> stages) {
    plan::PlanPart part;
    part.action = ActionId(++actions);
    if (stages.back().output == plan::OutputKind::result) part.targets = {stages.back().id};
    part.stages = std::move(stages);
    return apply(master::PlanExtended{JobId(job), std::move(part)});
  }
  void finish(std::uint32_t stage, std::uint32_t task, std::uint64_t input_bytes, std::vector<std::uint64_t> output) {
    master::TaskFinished event;
    event.attempt = driver->running_attempt(1, stage, task);
    event.node = NodeId(1);
    event.input_bytes = input_bytes;
    for (const std::uint64_t bytes : output) event.output.push_back({bytes, 1});
    driver->running.erase(event.attempt);
    apply(std::move(event));
  }

  History history;
  Observer observer{history};
  std::optional<master::test::Driver> driver;
  std::uint32_t actions = 0;
};

TEST_F(ObservedCore, SizesOfReadersAreThoseOfWhatTheyRead) {
  begin();
  submit(1);
  extend(1, {maps(0, 2, 2000), reduces(1, 2, 0)});
  for (std::uint32_t map : {0u, 1u}) finish(0, map, 1000, {300, 50});
  driver->now = seconds(2);
  finish(1, 0, 7, {});
  const StageHistory* readers = history.find({"words", StageId(1)});
  ASSERT_TRUE(readers);
  EXPECT_NEAR(readers->classes.at(0).bytes, 600, 1) << "and not what it says to have read";
  EXPECT_NEAR(readers->classes[0].seconds, 2, 1e-9);
  EXPECT_NEAR(history.find({"words", StageId(0)})->classes.at(0).bytes, 2000, 1);
}

TEST_F(ObservedCore, AReaderThatBeganEarlyTeachesNothing) {
  begin(0.5);
  submit(1);
  extend(1, {maps(0, 2, 2000), reduces(1, 2, 0)});
  finish(0, 0, 1000, {300, 50});
  ASSERT_TRUE(driver->is_running(1, 1, 0));
  finish(0, 1, 1000, {300, 50});
  finish(1, 0, 600, {});
  EXPECT_TRUE(history.find({"words", StageId(0)}));
  EXPECT_FALSE(history.find({"words", StageId(1)})) << "it waited for maps";
}

/// What is learned of a map that wrote 4000 bytes to a disk of 1000 bytes a second, or to one that nobody knows.
class UseAlone : public ObservedCore {
 protected:
  schedulers::Resources learned(const runtime::TaskUsage& usage, double processors, double disk_write = 0,
                                Duration writing = Duration(0), Duration launching = Duration(0)) {
    driver.emplace(master::CoreOptions{});
    history = History();
    master::WorkerJoined join{NodeId(1), "w", "h", "r", "", {.cpu = 8, .disk_write = disk_write}, {}};
    join.processors = processors;
    apply(std::move(join));
    submit(1);
    extend(1, {maps(0, 1, 100), reduces(1, 2, 0)});
    driver->now += usage.run > Duration(0) ? usage.run + launching : Duration(seconds(40));
    master::TaskFinished event;
    event.attempt = driver->running_attempt(1, 0, 0);
    event.node = NodeId(1);
    event.input_bytes = 100;
    event.output = {{3000, 1}, {1000, 1}};
    event.usage = usage;
    event.shuffle_times.write = writing;
    apply(std::move(event));
    return history.find({"words", StageId(0)})->profile(100)->use;
  }
  static runtime::TaskUsage usage(double run, double cpu, double ready, std::uint64_t disk_written = 0) {
    runtime::TaskUsage used;
    used.run = seconds_of(run);
    used.cpu = seconds_of(cpu);
    used.ready = seconds_of(ready);
    used.disk_written = disk_written;
    return used;
  }
};

TEST_F(UseAlone, IsWhatATaskTakesThatNeverWaitsForProcessors) {
  EXPECT_NEAR(learned(usage(2, 2, 0), 1).cpu, 1, 1e-6);
  EXPECT_NEAR(learned(usage(16, 2, 14), 1).cpu, 1, 1e-6) << "seven others had the processor";
  EXPECT_NEAR(learned(usage(18, 2, 14), 1).cpu, 0.5, 1e-6) << "two seconds it waited for something else";
  EXPECT_NEAR(learned(usage(16, 2, 14), 4).cpu, 1, 1e-6) << "it has one thread";
}

TEST_F(UseAlone, OfShortTasksIsLessForTheirLaunches) {
  EXPECT_NEAR(learned(usage(2, 2, 0), 1, 0, {}, seconds(1)).cpu, 2.0 / 3, 1e-6);
  EXPECT_NEAR(learned(usage(2, 2, 0), 1, 0, {}, seconds(30)).cpu, 0.5, 1e-6) << "something else was in the way";
}

TEST_F(UseAlone, IsAllOfANodeWithLessThanAProcessor) {
  EXPECT_NEAR(learned(usage(20, 3, 17), 0.3).cpu, 0.3, 1e-6);
  EXPECT_NEAR(learned(usage(20, 3, 7), 0.3).cpu, 0.15, 1e-6) << "ten seconds of processor, ten of something else";
}

TEST_F(UseAlone, OfADiskIsNoLessThanItsRateAllows) {
  const auto alone = learned(usage(5, 1, 0, 4000), 1, 1000, seconds(4));
  EXPECT_NEAR(alone.disk_write, 800, 1e-3);
  const auto shared = learned(usage(17, 1, 0, 4000), 1, 1000, seconds(16));
  EXPECT_NEAR(shared.disk_write, 800, 1e-3) << "the disk wrote for three others meanwhile";
  EXPECT_NEAR(shared.cpu, 0.2, 1e-6);
  const auto cached = learned(usage(1, 1, 0, 4000), 1, 1000, seconds(0));
  EXPECT_NEAR(cached.disk_write, 1000, 1e-3) << "it has still to be written";
  EXPECT_NEAR(cached.cpu, 0.25, 1e-6);
  EXPECT_NEAR(learned(usage(5, 1, 0, 4000), 1, 0, seconds(4)).disk_write, 800, 1e-3) << "where its rate is not known";
}

TEST_F(UseAlone, OfMapOutputsInMemoryNoDiskKnows) { EXPECT_EQ(learned(usage(5, 1, 0, 0), 1, 1000).disk_write, 0); }

TEST_F(UseAlone, IsTheWholeTimeWhereTheWorkerDidNotMeasure) {
  EXPECT_NEAR(learned({}, 1).disk_write, 100, 1e-3) << "4000 bytes in 40 s";
}

TEST_F(ObservedCore, ThatProfilesAreOfAnotherVersionIsSaidOnceForEachJob) {
  begin();
  history.learn({"words", StageId(0)}, identity(maps(0, 1, 100, 77)), JobId(5), task(1, 100), {}, 1);
  history.learn({"words", StageId(1)}, identity(maps(1, 1, 100, 77)), JobId(5), task(1, 100), {}, 1);
  for (const std::uint64_t job : {1u, 2u}) {
    submit(job);
    const auto said = extend(job, {maps(0, 1, 100)});
    ASSERT_TRUE(said);
    EXPECT_THAT(*said, HasSubstr("profiles of another version of words are not used"));
    EXPECT_FALSE(extend(job, {maps(1, 1, 100)}));
  }
}

}  // namespace
}  // namespace weft::profiles

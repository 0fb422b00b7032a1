// The second run of a program is predicted by the first: in the simulator, whose tasks take what they are told to.
#include "engine/profiles/observer.hpp"

#include <gmock/gmock.h>

#include "base/clock.hpp"
#include "tests/engine/profiles/samples.hpp"
#include "tests/simulation/simulated.hpp"

namespace weft::profiles {
namespace {

using namespace simulator::test;
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

}  // namespace
}  // namespace weft::profiles

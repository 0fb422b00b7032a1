// Advice from a log and from a described workload, through all runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/simulator/experiment/advice.hpp"
#include "tests/engine/simulator/workload_files.hpp"

namespace weft::simulator::experiment {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kBusy =
    "generate:jobs=24,mean_gap=1s,users=3,maps=bins(70:1..6,30:20..40),reduces=2,map_time=lognormal(3s,0.4),reduce_time=2s";

Options busy() {
  Options options;
  options.workload = kBusy;
  options.cluster.nodes = 3;
  options.cluster.cores = 2;
  return options;
}

/// Each reading of this clock is a second after the one before.
class CountingClock final : public Clock {
 public:
  TimePoint now() const override {
    now_.advance(1s);
    return now_.now();
  }

 private:
  mutable ManualClock now_;
};

/// As they are printed.
std::vector<std::string> warnings_of(const report::Advice& advice) {
  std::vector<std::string> lines;
  for (const report::Warning& one : advice.warnings) lines.push_back(one.text + "; " + one.remedy);
  return lines;
}

/// The event log of such a run under fifo, in the directory.
std::string logged(const TempDir& directory, Options options = busy()) {
  options.schedulers = {"fifo"};
  options.event_log = directory.path() / "run.jsonl";
  EXPECT_TRUE(run(options, [](const std::string&) {}).has_value());
  return options.event_log;
}

report::Advice advised(const AdviceOptions& options) {
  const ManualClock clock;
  auto advice = advise(options, clock, [](const std::string&) {});
  EXPECT_TRUE(advice.has_value()) << advice.error().to_string();
  return advice ? std::move(*advice) : report::Advice{};
}

const report::Candidate& candidate(const report::Advice& advice, const std::string& scheduler) {
  return *std::ranges::find(advice.candidates, scheduler, &report::Candidate::scheduler);
}

TEST(Advise, TakesTheSchedulerOfTheLogAndSaysWhatOthersBring) {
  const TempDir directory = TempDir::create().value();
  AdviceOptions options;
  options.what.from_log = logged(directory);
  options.what.seeds = 3;
  const report::Advice advice = advised(options);
  EXPECT_EQ(advice.present, "fifo");
  EXPECT_EQ(advice.recommended, "fsp") << report::to_text(advice);
  EXPECT_EQ(advice.seeds, 3u);
  EXPECT_EQ(candidate(advice, "fsp").runs, 3u);
  EXPECT_EQ(candidate(advice, "cogrs(inner=fair)").runs, 1u) << "only the best are simulated with all seeds";
  EXPECT_GT(candidate(advice, "fsp").mean.paired->ratio->half_width, 0);
  ASSERT_TRUE(advice.accuracy.has_value());
  EXPECT_EQ(advice.accuracy->jobs, 24u);
  EXPECT_LT(std::abs(advice.accuracy->error()), 0.02);
  EXPECT_THAT(warnings_of(advice), Contains(HasSubstr("give --network")));
  EXPECT_EQ(report::to_json(advice), report::to_json(advised(options)));
}

TEST(Advise, FiguresAreThoseOfASimulation) {
  const TempDir directory = TempDir::create().value();
  AdviceOptions options;
  options.what.from_log = logged(directory);
  options.what.seeds = 1;
  Options simulation = options.what;
  simulation.schedulers = {"fifo", "tetris"};
  const auto comparison = run(simulation, [](const std::string&) {});
  ASSERT_TRUE(comparison.has_value());
  const auto sum = [&](std::size_t scheduler) {
    double seconds = 0;
    for (const double one : report::completion_seconds(comparison->schedulers[scheduler].runs[0])) seconds += one;
    return seconds;
  };
  EXPECT_NEAR(candidate(advised(options), "tetris").mean.paired->ratio->mean, sum(1) / sum(0), 1e-9);
}

TEST(Advise, TheSimulatorIsJudgedOnTheClusterOfTheLog) {
  const TempDir directory = TempDir::create().value();
  AdviceOptions options;
  options.what.from_log = logged(directory);
  options.what.seeds = 1;
  const report::Accuracy same = *advised(options).accuracy;
  options.what.cluster.nodes = 60;
  const report::Advice larger = advised(options);
  EXPECT_DOUBLE_EQ(larger.accuracy->simulated_mean, same.simulated_mean);
  EXPECT_LT(candidate(larger, "fifo").mean.value.mean, same.simulated_mean / 2);
  EXPECT_THAT(warnings_of(larger), Contains(HasSubstr("; --arrival-scale 0.05 gives each slot as much work as it had")));
}

TEST(Advise, UplinksOfTheLogCountWhereMovingBytesTakesTime) {
  const TempDir directory = TempDir::create().value();
  Options slow = busy();
  slow.workload += ",input=200MB,shuffle_ratio=1";
  slow.cluster.racks = 3;
  slow.cluster.flows = true;
  slow.cluster.rack_uplinks = {"rack=0,up=5MB,down=5MB", "rack=1,up=5MB,down=5MB", "rack=2,up=5MB,down=5MB"};
  AdviceOptions options;
  options.what.from_log = logged(directory, slow);
  options.what.seeds = 1;
  EXPECT_THAT(warnings_of(advised(options)), Contains(HasSubstr("the log knows the uplinks")));
  options.what.cluster.flows = true;
  const report::Advice advice = advised(options);
  EXPECT_THAT(warnings_of(advice), Not(Contains(HasSubstr("give --network"))));
  const double with_uplinks = candidate(advice, "fifo").mean.value.mean;
  options.what.cluster.uplink = 1'000'000'000;
  EXPECT_LT(candidate(advised(options), "fifo").mean.value.mean, with_uplinks * 0.9) << "options win";
}

TEST(Advise, DeadlinesAreTheGoalWhereJobsHaveSome) {
  AdviceOptions options;
  options.what = busy();
  options.what.workload += ",deadline=uniform(1.5,4)";
  options.what.seeds = 1;
  options.present = "fifo";
  const report::Advice advice = advised(options);
  EXPECT_EQ(advice.goal, report::Goal::deadlines);
  EXPECT_TRUE(candidate(advice, "fifo").missed.has_value());
  options.goal = report::Goal::mean;
  EXPECT_EQ(advised(options).goal, report::Goal::mean);
}

TEST(Advise, SchedulersOfADescribedWorkloadKnowWhatTheyAreTold) {
  AdviceOptions options;
  options.what = busy();
  options.what.seeds = 1;
  options.what.known = 0;
  const double unknown = candidate(advised(options), "srtf").mean.value.mean;
  options.what.known = 1;
  EXPECT_NE(candidate(advised(options), "srtf").mean.value.mean, unknown);
}

TEST(Advise, EndsWhenTheTimeIsOver) {
  AdviceOptions options;
  options.what = busy();
  options.budget = 5s;
  const CountingClock clock;
  const auto advice = advise(options, clock, [](const std::string&) {});
  ASSERT_TRUE(advice.has_value()) << advice.error().to_string();
  EXPECT_LT(advice->candidates.size(), 8u);
  EXPECT_EQ(advice->seeds, 1u);
  EXPECT_THAT(warnings_of(*advice), Contains(HasSubstr("the time is over (5s): ")));
  options.budget = 1ns;
  const auto none = advise(options, clock, [](const std::string&) {});
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().to_string(), HasSubstr("is over after the first run: ask about fewer jobs"));
}

TEST(Advise, PoolsOfThePresentSchedulerAreKept) {
  const TempDir directory = TempDir::create().value();
  const std::string pools = directory.path() / "pools.toml";
  ASSERT_TRUE(write_file(pools, "[[pool]]\nname = \"a\"\nweight = 3\n").has_value());
  AdviceOptions options;
  options.what = busy();
  options.what.seeds = 1;
  options.present = "delay(inner=fair(pools=" + pools + "))";
  const report::Advice advice = advised(options);
  EXPECT_EQ(candidate(advice, "fsp(pools=" + pools + ")").runs, 1u);
  EXPECT_EQ(candidate(advice, "fair(pools=" + pools + ")").runs, 1u);
}

TEST(Advise, SaysWhatIsWrong) {
  const ManualClock clock;
  const auto error_of = [&](const AdviceOptions& options) {
    const auto advice = advise(options, clock, [](const std::string&) {});
    return advice ? "" : advice.error().to_string();
  };
  EXPECT_THAT(error_of({}), HasSubstr("give the event log of a cluster (--from-log FILE), or --workload KIND:FILE"));
  AdviceOptions options;
  options.what = busy();
  options.present = "nonsense";
  EXPECT_THAT(error_of(options), HasSubstr("unknown scheduler 'nonsense'"));
  options.present.clear();
  options.what.known = 2;
  EXPECT_THAT(error_of(options), HasSubstr("--known must be a number from 0 to 1, not 2"));
  options.what.known.reset();
  options.what.from_log = "x";
  EXPECT_THAT(error_of(options), HasSubstr("no event log x"));
}

}  // namespace
}  // namespace weft::simulator::experiment

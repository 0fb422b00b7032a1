// Which scheduler is recommended, from runs whose completion times are made up by hand.
#include "engine/simulator/report/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "tests/engine/simulator/report_fixture.hpp"

namespace weft::simulator::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Jobs of "ann" and "bob" in turn, with these completion times in seconds.
RunResult run_of(const std::vector<double>& seconds, Time deadline = 0s) {
  RunResult result;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    result.jobs.push_back(job(i, 0s, 0s, Time(static_cast<std::int64_t>(seconds[i] * 1e9))));
    result.jobs.back().user = i % 2 == 0 ? "ann" : "bob";
    if (deadline > 0s) result.jobs.back().deadline = deadline;
  }
  result.makespan = 100s;
  return result;
}

Comparison comparison_of(std::vector<std::pair<std::string, std::vector<RunResult>>> all) {
  Comparison comparison;
  for (auto& [name, runs] : all) {
    while (comparison.seeds.size() < runs.size()) {
      comparison.seeds.push_back(comparison.seeds.size() + 1);
      comparison.alone.emplace_back(runs.front().jobs.size(), 1s);
    }
    comparison.schedulers.push_back({name, std::move(runs)});
  }
  return comparison;
}

TEST(Advice, TakesTheBestAndSaysWhatItBringsAndWhoPays) {
  const Comparison comparison = comparison_of({{"fifo", {run_of({10, 10, 20, 20})}}, {"srtf", {run_of({5, 10, 10, 23})}}});
  const Advice advice = advise(comparison, Goal::mean, "fsp");
  EXPECT_EQ(advice.present, "fifo");
  EXPECT_EQ(advice.recommended, "srtf");
  ASSERT_EQ(advice.candidates.size(), 2u);
  EXPECT_EQ(advice.candidates[0].scheduler, "srtf");
  EXPECT_DOUBLE_EQ(advice.candidates[0].mean.paired->ratio->mean, 48.0 / 60);
  EXPECT_EQ(advice.candidates[0].worst_user, "bob");
  EXPECT_DOUBLE_EQ(advice.candidates[0].worst_user_ratio, 33.0 / 30);
  EXPECT_DOUBLE_EQ(advice.candidates[0].jobs_slower, 0.25);
  ASSERT_EQ(advice.users.size(), 2u);
  EXPECT_EQ(advice.users[0].user, "bob") << "who loses most comes first";
  EXPECT_DOUBLE_EQ(advice.users[1].ratio(), 0.5);
  ASSERT_EQ(advice.jobs.size(), 1u);
  EXPECT_EQ(advice.jobs[0].job, "job 3");
  const std::string text = to_text(advice);
  EXPECT_THAT(text, HasSubstr("Use srtf in place of fifo."));
  EXPECT_THAT(text, HasSubstr("mean completion time   15 s -> 12 s   -20.0 %"));
  EXPECT_THAT(text, HasSubstr("costs: 25 % of the jobs take longer, at most job 3: 20 s -> 23 s"));
  EXPECT_THAT(text, HasSubstr("bob (2 jobs) +10 %"));
}

TEST(Advice, StaysWhereTheIntervalLeavesDoubt) {
  const std::vector<RunResult> present{run_of({10, 10}), run_of({10, 10}), run_of({10, 10})};
  const auto advised = [&](const std::vector<double>& means) {
    std::vector<RunResult> runs;
    for (const double mean : means) runs.push_back(run_of({mean, mean}));
    return advise(comparison_of({{"fair", present}, {"drf", runs}}), Goal::mean, "fsp");
  };
  EXPECT_EQ(advised({8, 8.1, 8.2}).recommended, "drf");
  const Advice doubtful = advised({5, 8, 11});
  EXPECT_EQ(doubtful.recommended, "fair") << "0.8, but the interval reaches beyond 1";
  EXPECT_THAT(to_text(doubtful), HasSubstr("Stay with fair. No other is better beyond doubt"));
  EXPECT_THAT(doubtful.users, IsEmpty());
  EXPECT_EQ(advised({9.9, 9.9, 9.9}).recommended, "fair") << "one percent is not worth a change";
  EXPECT_EQ(advised({12, 12, 12}).reason, "No other is better.");
}

TEST(Advice, OneWithFewerRunsIsNotRecommended) {
  const Comparison comparison = comparison_of(
      {{"fair", {run_of({10, 10}), run_of({10, 10})}}, {"drf", {run_of({8, 8}), run_of({8, 8})}}, {"lucky", {run_of({1, 1})}}});
  const Advice advice = advise(comparison, Goal::mean, "fsp");
  EXPECT_EQ(advice.candidates[0].scheduler, "lucky");
  EXPECT_EQ(advice.recommended, "drf");
}

TEST(Advice, HarmIsAnObjection) {
  std::vector<double> unfair{1, 16, 1, 16}, tail(100, 1);
  const Advice user = advise(comparison_of({{"fair", {run_of({10, 10, 10, 10})}}, {"srtf", {run_of(unfair)}}}), Goal::mean, "fsp");
  EXPECT_EQ(user.recommended, "fair");
  EXPECT_EQ(user.candidates[0].objection, "95th percentile 1.60 times");
  for (std::size_t i = 0; i < 10; ++i) tail[i * 10] = 12;
  const Advice late =
      advise(comparison_of({{"fair", {run_of(std::vector<double>(100, 10))}}, {"srtf", {run_of(tail)}}}), Goal::mean, "fsp");
  EXPECT_THAT(late.candidates[0].objection, HasSubstr("95th percentile 1.20 times"));
  RunResult lost = run_of({1, 1});
  lost.jobs[0].outcome = Outcome::failed;
  const Advice incomplete = advise(comparison_of({{"fair", {run_of({10, 10})}}, {"new", {lost}}}), Goal::mean, "fsp");
  EXPECT_EQ(incomplete.candidates[0].objection, "1 more jobs do not finish");
  EXPECT_THAT(to_text(incomplete), HasSubstr("no: 1 more jobs do not finish"));
  const Advice in_another_order =
      advise(comparison_of({{"fair", {run_of({10, 10}), run_of({10, 10})}}, {"new", {run_of({1, 1}), lost}}}), Goal::mean, "fsp");
  EXPECT_EQ(in_another_order.candidates[0].objection, "1 more jobs do not finish");
}

TEST(Advice, AUsersLossIsAnObjectionThoughTheTailIsNot) {
  std::vector<double> before, after;
  for (int i = 0; i < 100; ++i) {
    before.push_back(i % 2 == 0 ? 100 : 10);  // ann's jobs are long, bob's are short
    after.push_back(i % 2 == 0 ? 50 : 20);
  }
  const Advice advice = advise(comparison_of({{"fair", {run_of(before)}}, {"drf", {run_of(after)}}}), Goal::mean, "fsp");
  EXPECT_EQ(advice.recommended, "fair");
  EXPECT_EQ(advice.candidates[0].objection, "jobs of bob take 2.00 times");
}

TEST(Advice, PrefersTheDefaultWhereItIsAboutAsGood) {
  const auto advised = [](double of_default) {
    return advise(comparison_of(
                      {{"fifo", {run_of({10, 10})}}, {"srtf", {run_of({5, 5})}}, {"fsp", {run_of({of_default, of_default})}}}),
                  Goal::mean, "fsp")
        .recommended;
  };
  EXPECT_EQ(advised(5.1), "fsp");
  EXPECT_EQ(advised(5.5), "srtf");
}

TEST(Advice, DeadlinesComeFirstWhereTheyAreTheGoal) {
  const Comparison comparison = comparison_of({{"fair", {run_of({11, 11, 9, 9}, 10s)}},
                                               {"srtf", {run_of({1, 10.5, 10.5, 9}, 10s)}},
                                               {"adaptive", {run_of({9.5, 9.5, 9.5, 10.5}, 10s)}}});
  EXPECT_EQ(advise(comparison, Goal::deadlines, "fsp").recommended, "adaptive");
  EXPECT_EQ(advise(comparison, Goal::mean, "fsp").recommended, "srtf");
  EXPECT_THAT(to_text(advise(comparison, Goal::deadlines, "fsp")), HasSubstr("deadlines missed       50.0 % -> 25.0 %"));
}

TEST(Advice, AccuracyIsOfTheMeanAndTheWorstJob) {
  Replay replay;
  replay.scheduler = "fifo";
  replay.jobs = {{"a", 10, 11}, {"b", 30, 27}};
  replay.recorded_makespan = 40, replay.simulated_makespan = 38;
  Advice advice = advise(comparison_of({{"fifo", {run_of({10})}}}), Goal::mean, "fsp");
  advice.accuracy = accuracy_of(replay);
  EXPECT_DOUBLE_EQ(advice.accuracy->error(), 19.0 / 20 - 1);
  EXPECT_NEAR(std::abs(advice.accuracy->worst_job_error), 0.1, 1e-9);
  EXPECT_THAT(to_text(advice), HasSubstr("2 jobs under fifo took 20 s in the mean, simulated 19 s (-5.0 %); makespan -5.0 %"));
}

TEST(Advice, JsonIsWellFormed) {
  Advice advice = advise(made_up(3), Goal::mean, "fsp");
  advice.warnings.push_back({"a \"warning\"", "give --option"});
  const std::string text = to_json(advice);
  JsonReader json(text, "advice");
  std::vector<std::string> keys;
  ASSERT_TRUE(json.object([&](std::string_view key) -> Result<void> { return keys.emplace_back(key), json.skip(); }).has_value());
  EXPECT_TRUE(json.finish().has_value());
  EXPECT_THAT(
      keys, ElementsAre("present", "recommended", "goal", "seeds", "facts", "candidates", "users", "jobs", "warnings", "remedies"));
  EXPECT_THAT(text, HasSubstr("\"recommended\":\"fair(pools=<x>)\""));
  EXPECT_THAT(text, HasSubstr(R"("warnings":["a \"warning\""],"remedies":["give --option"])"));
  EXPECT_THAT(to_text(advice), HasSubstr("warning: a \"warning\"; give --option\n"));
}

}  // namespace
}  // namespace weft::simulator::report

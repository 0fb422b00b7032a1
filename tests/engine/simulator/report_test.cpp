// Rows, JSON, replays and axes of reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "engine/simulator/report/reports.hpp"
#include "engine/simulator/report/svg.hpp"
#include "tests/engine/simulator/report_fixture.hpp"

namespace weft::simulator::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Report, RowsCompareWithTheFirstScheduler) {
  Comparison comparison = made_up(1);
  const Rows rows = summary_rows(comparison);
  EXPECT_THAT(rows.front(), ElementsAre("", "fifo", "fair(pools=<x>)", "drf"));
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), 4u);
    EXPECT_NE(row[0], "deadlines missed") << "no job has a deadline";
    if (row[0] != "bytes between racks") continue;
    EXPECT_EQ(row[1], "1.4 TB");
    EXPECT_EQ(row[2], "1.1 TB (-21.4 %)");
  }
  EXPECT_THAT(summary_rows(made_up(3))[1][1], HasSubstr(" ± "));
}

TEST(Report, DifferencesAreOfTheSameSeeds) {
  const Comparison comparison = of_makespans({100s, 200s, 300s}, {50s, 100s, 150s});
  bool seen = false;
  for (const auto& row : summary_rows(comparison)) {
    if (row[0] != "makespan") continue;
    EXPECT_EQ(row[2], "100.0 s ± 124.2 s (-50.0 ± 0.0 %)") << "seeds differ, the gain does not";
    seen = true;
  }
  EXPECT_TRUE(seen);
  const std::string json = to_json(comparison);
  EXPECT_THAT(json, HasSubstr(R"("ratio":{"mean":0.5,)"));
  EXPECT_GT(json.find(R"("difference")"), json.find(R"("scheduler":"fair")")) << "the first is compared with nothing";
}

TEST(Report, JsonIsWellFormedAndComplete) {
  const std::string text = to_json(made_up(2));
  JsonReader json(text, "report");
  std::size_t schedulers = 0;
  ASSERT_TRUE(json.object([&](std::string_view key) -> Result<void> {
                    if (key != "schedulers") return json.skip();
                    return json.array([&] { return ++schedulers, json.skip(); });
                  })
                  .has_value());
  EXPECT_TRUE(json.finish().has_value());
  EXPECT_EQ(schedulers, 3u);
  EXPECT_THAT(text, HasSubstr(R"("completion_mean":{"mean":)"));
}

TEST(Report, TellsWhichDeadlinesAreMetUnderWhichScheduler) {
  Comparison comparison = of_makespans({100s}, {90s});
  EXPECT_EQ(deadline_rows(comparison).size(), 1u) << "no job has a deadline";
  for (auto& runs : comparison.schedulers) {
    RunResult& run = runs.runs[0];
    run.jobs = {job(0, 10s, 10s, 60s), job(1, 0s, 0s, 90s), job(2, 0s, 0s, 20s), job(3, 0s, 0s, 20s)};
    run.jobs[0].deadline = 50s;
    run.jobs[1].deadline = 100s;
    run.jobs[3].deadline = 100s;
  }
  comparison.schedulers[1].runs[0].jobs[0].ended = 45s;
  comparison.schedulers[1].runs[0].jobs[3].outcome = Outcome::failed;
  const Rows rows = deadline_rows(comparison);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0][1], "DEADLINE");
  EXPECT_EQ(rows[1][0], "job 0");
  EXPECT_EQ(rows[1][1], "40 s") << "from the submission on";
  EXPECT_EQ(rows[1][2], "late by 10 s");
  EXPECT_EQ(rows[1][3], "met, 5 s to spare");
  EXPECT_EQ(rows[3][3], "failed");
  EXPECT_EQ(rows[4], (std::vector<std::string>{"met", "", "2 of 3", "2 of 3"}));
}

TEST(Report, EmptyResultsStillGiveAPage) {
  Comparison comparison;
  comparison.title = "nothing";
  comparison.schedulers.push_back({"fifo", {RunResult{}}});
  EXPECT_THAT(to_html(comparison), Not(HasSubstr("nan")));
  EXPECT_FALSE(to_json(comparison).empty());
  EXPECT_FALSE(summary_rows(comparison).empty());
}

TEST(Report, ComparesAReplayWithWhatHappened) {
  RunResult result;
  result.scheduler = "fifo";
  result.jobs = {job(0, 0s, 0s, 11s), job(1, 2s, 3s, 20s), job(2, 3s, 3s, 4s)};
  result.jobs[2].outcome = Outcome::unfinished;
  const Replay replay = compare_with_recording(result, {10s, 22s, 5s});
  ASSERT_EQ(replay.jobs.size(), 2u);
  EXPECT_NEAR(replay.jobs[0].error(), 0.1, 1e-12);
  EXPECT_NEAR(replay.jobs[1].error(), -0.1, 1e-12);
  EXPECT_NEAR(replay.mean_absolute_error(), 0.1, 1e-12);
  EXPECT_NEAR(replay.makespan_error(), 20.0 / 22 - 1, 1e-12);
  const Rows rows = replay_rows(replay);
  EXPECT_THAT(rows.back(), ElementsAre("makespan", "22 s", "20 s", "-9.1 %"));
}

TEST(Svg, TicksAreRound) {
  EXPECT_THAT(ticks(0, 10, 5, false), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(0, 0.7, 4, false).size(), testing::Le(6u));
  EXPECT_THAT(ticks(1, 100, 5, true), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(ticks(1.2, 1.5, 5, true).size(), testing::Ge(3u)) << "less than a decade";
  EXPECT_EQ(tick_text(12000), "12k");
  EXPECT_EQ(tick_text(0.05), "0.05");
}

}  // namespace
}  // namespace weft::simulator::report

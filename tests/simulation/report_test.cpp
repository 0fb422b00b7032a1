// Reports of results made up by hand.
#include <cmath>
#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/random.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"
#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

JobResult job(std::size_t index, Time submitted, Time started, Time ended) {
  JobResult result;
  result.index = index;
  result.name = "job " + std::to_string(index);
  result.submitted = submitted, result.started = started, result.ended = ended;
  result.outcome = Outcome::finished;
  return result;
}

RunResult run(const std::string& scheduler, std::uint64_t seed, double slowness) {
  Random random(seed);
  RunResult result;
  result.scheduler = scheduler, result.seed = seed;
  Time at{0}, last{0};
  for (std::size_t i = 0; i < 200; ++i) {
    const Time wait(static_cast<std::int64_t>(random.uniform() * 40e9 * slowness));
    const Time length(static_cast<std::int64_t>(std::exp(random.uniform() * 5) * 1e9 * slowness));
    result.jobs.push_back(job(i, at, at + wait, at + wait + length));
    last = std::max(last, at + wait + length);
    at += 5s;
  }
  result.makespan = result.end = last;
  result.traffic[1] = {4e12 * slowness, 2e12 * slowness, 1e12 * slowness};
  result.traffic[0] = {1e12, 3e11, 1e11};
  result.series.step = 10s;
  for (Time t{0}; t < last; t += 10s) {
    Sample sample;
    sample.capacity.cpu = 100;
    sample.used.cpu = 50 + 40 * std::sin(std::chrono::duration<double>(t).count() / 120);
    sample.running_tasks = sample.used.cpu;
    sample.pending_tasks = 100 * slowness * random.uniform();
    sample.running_jobs = 10;
    sample.traffic[1].cross_rack = 1e10 * slowness * random.uniform();
    result.series.samples.push_back(sample);
  }
  result.utilisation.cpu = 0.6;
  result.fairness = {60s, std::vector<double>(20, 0.8 / slowness), {}, 0.8 / slowness, 1};
  result.work.useful = 1000s, result.work.preempted = 250s;
  result.launches = 5000, result.scheduler_time = 10ms, result.scheduler_calls = 100, result.wall_time = 80ms;
  return result;
}

Comparison made_up(std::size_t seeds) {
  Comparison comparison;
  comparison.title = "made <up> & \"quoted\"";
  comparison.facts = {{"workload", comparison.title}, {"cluster", "100 nodes"}};
  for (const auto& [name, slowness] : {std::pair{"fifo", 1.3}, {"fair(pools=<x>)", 1.0}, {"drf", 1.05}})
    comparison.schedulers.push_back({name, {}});
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    comparison.seeds.push_back(seed);
    comparison.alone.emplace_back(200, 1s);
    for (std::size_t i = 0; i < 3; ++i)
      comparison.schedulers[i].runs.push_back(run(comparison.schedulers[i].scheduler, seed, std::array{1.3, 1.0, 1.05}[i]));
  }
  return comparison;
}

const Metric& metric(const std::string& key) {
  for (const Metric& one : metrics()) {
    if (one.key == key) return one;
  }
  ADD_FAILURE() << "no metric " << key;
  return metrics().front();
}

TEST(Statistics, QuantilesAndIntervals) {
  std::vector<double> values{4, 1, 3, 2};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 2.5);
  EXPECT_EQ(quantile(values, 1), 4);
  std::vector<double> none;
  EXPECT_EQ(quantile(none, 0.5), 0);
  const Estimate of_three = estimate({10, 12, 14});
  EXPECT_EQ(of_three.mean, 12);
  EXPECT_NEAR(of_three.half_width, 4.303 * 2 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(estimate({5}).half_width, 0);
  EXPECT_NEAR(student_t(30), 2.042, 0.001);
  EXPECT_NEAR(student_t(60), 2.000, 0.001);
  EXPECT_NEAR(student_t(100000), 1.960, 0.001);
}

TEST(Statistics, CumulativeEndsAtOne) {
  const Points points = cumulative({3, 1, 2});
  EXPECT_EQ(points.front().x, 1);
  EXPECT_EQ(points.front().y, 0);
  EXPECT_EQ(points.back().x, 3);
  EXPECT_EQ(points.back().y, 1);
  EXPECT_LT(cumulative(std::vector<double>(100'000, 1.0)).size(), 1000u);
  EXPECT_TRUE(cumulative({}).empty());
  Points long_line;
  for (int i = 0; i < 5000; ++i) long_line.push_back({static_cast<double>(i), 1});
  EXPECT_LE(thinned(long_line).size(), 600u);
  EXPECT_EQ(thinned(long_line).front().y, 1);
}

TEST(Metrics, CountWhatTheyName) {
  RunResult result;
  result.jobs = {job(0, 0s, 1s, 10s), job(1, 5s, 6s, 25s), job(2, 5s, 6s, 25s)};
  result.jobs[0].deadline = 9s;
  result.jobs[1].deadline = 30s;
  result.jobs[2].outcome = Outcome::failed;
  result.makespan = 3600s;
  result.work = {70s, 10s, 15s, 5s};
  result.locality = {3, 1, 0};
  const std::vector<Time> alone{5s, 8s, 1s};
  const auto value = [&](const std::string& key) { return metric(key).value(result, alone); };
  EXPECT_EQ(value("completion_mean"), 15);
  EXPECT_EQ(value("completion_p50"), 15);
  EXPECT_NEAR(value("completion_p90").value_or(0), 19, 1e-9);
  EXPECT_NEAR(value("completion_p95").value_or(0), 19.5, 1e-9);
  EXPECT_NEAR(value("completion_p99").value_or(0), 19.9, 1e-9);
  EXPECT_EQ(value("completion_max"), 20);
  EXPECT_EQ(value("slowdown_mean"), 2.25);
  EXPECT_NEAR(value("slowdown_p95").value_or(0), 2.475, 1e-9);
  EXPECT_EQ(value("makespan"), 3600);
  EXPECT_EQ(value("jobs_per_hour"), 2);
  EXPECT_EQ(value("jobs_not_finished"), 1);
  EXPECT_EQ(value("deadlines_missed"), 0.5);
  EXPECT_EQ(value("preempted_work"), 0.1);
  EXPECT_EQ(value("lost_work"), 0.15);
  EXPECT_EQ(value("redundant_work"), 0.05);
  EXPECT_EQ(value("node_local"), 0.75);
  EXPECT_EQ(value("rack_local"), 0.25);
}

TEST(Metrics, TellBytesFairnessUseAndCost) {
  RunResult result;
  const auto value = [&](const std::string& key) { return metric(key).value(result, {}); };
  for (const char* key : {"completion_mean", "jobs_per_hour", "deadlines_missed", "jain_jobs", "jain_users", "node_local",
                          "utilisation_cpu", "preempted_work", "launches_per_second", "decision_seconds"})
    EXPECT_EQ(value(key), std::nullopt) << key << " makes no sense of a run without anything";
  result.traffic = {Traffic{100, 60, 20}, Traffic{50, 40, 30}, Traffic{9, 8, 7}};
  result.fairness = {60s, {1}, {1}, 0.9, 0.8};
  result.utilisation.cpu = 0.5;
  result.preemptions = 3, result.failed_attempts = 4, result.speculative = 5, result.node_deaths = 6, result.refused_decisions = 7;
  result.launches = 500, result.scheduler_calls = 1000, result.scheduler_time = 2s, result.wall_time = 4s;
  const std::map<std::string, double> expected{
      {"remote_bytes", 108},    {"cross_rack_bytes", 57},     {"cross_rack_map_read", 20}, {"cross_rack_shuffle", 30},
      {"cross_rack_output", 7}, {"jain_jobs", 0.9},           {"jain_users", 0.8},         {"utilisation_cpu", 0.5},
      {"preemptions", 3},       {"failed_attempts", 4},       {"speculative", 5},          {"node_deaths", 6},
      {"refused_decisions", 7}, {"launches_per_second", 250}, {"decision_seconds", 0.002}, {"wall_seconds", 4}};
  for (const auto& [key, wanted] : expected) EXPECT_EQ(value(key), wanted) << key;
  EXPECT_EQ(value("utilisation_memory"), std::nullopt) << "nobody accounts for it";
}

TEST(Metrics, TimeAloneIsTheLongestPath) {
  JobSpec spec;
  spec.stages.resize(4);
  spec.stages[0].duration = 10s;
  spec.stages[1].duration = 3s;
  spec.stages[1].durations = {1s, 7s};
  spec.stages[2].parents = {0, 1};
  spec.stages[2].duration = 5s;
  spec.stages[3].parents = {1};
  spec.stages[3].duration = 6s;
  EXPECT_EQ(time_alone(spec), 15s);
}

TEST(Report, FormatsForPeople) {
  EXPECT_EQ(format_value(0.0000123, Format::seconds), "12.3 µs");
  EXPECT_EQ(format_value(0.25, Format::seconds), "250 ms");
  EXPECT_EQ(format_value(12.345, Format::seconds), "12.3 s");
  EXPECT_EQ(format_value(12345.67, Format::seconds), "12345.7 s");
  EXPECT_EQ(format_value(1.234e12, Format::bytes), "1.23 TB");
  EXPECT_EQ(format_value(0.1234, Format::percent), "12.3 %");
  EXPECT_EQ(format_value(0, Format::bytes), "0 B");
}

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

TEST(Report, PageLoadsNothingAndEscapesNames) {
  Comparison comparison = made_up(3);
  comparison.schedulers[0].runs[0].jobs[3].outcome = Outcome::failed;
  comparison.schedulers[0].runs[0].jobs[3].error = "<script>alert(1)</script>";
  const std::string page = to_html(comparison);
  if (const char* path = std::getenv("WEFT_REPORT")) {  // to look at it
    ASSERT_TRUE(write_file(path, page).has_value());
  }
  for (const char* loaded : {"http:", "https:", "src=", "@import", "url(", "<link"}) EXPECT_THAT(page, Not(HasSubstr(loaded)));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("pools=<x>")));
  EXPECT_THAT(page, HasSubstr("fair(pools=&lt;x&gt;)"));
  for (const char* part : {"Completion times", "Slowdown", "Speed-up of single jobs", "Utilisation of cpu", "Traffic between racks",
                           "Jain index over jobs", "Jobs as they came", "Jobs that did not finish", "± "}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf ")));
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

// The figures of a report, and how they are computed.
#include "engine/simulator/report/metrics.hpp"

#include <map>

#include <gtest/gtest.h>

#include "tests/engine/simulator/report_fixture.hpp"

namespace weft::simulator::report {
namespace {

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
  const Estimate of_equal = estimate({0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3});
  EXPECT_EQ(of_equal.half_width, 0) << "rounding is no uncertainty";
  EXPECT_NEAR(of_equal.mean, 0.3, 1e-15);
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

/// Seeds differ by hundreds of seconds, the schedulers by ten in each of them.
TEST(Metrics, SchedulersAreComparedSeedBySeed) {
  Comparison comparison = of_makespans({100s, 200s, 300s}, {90s, 191s, 289s});
  const auto paired = [&] { return paired_with_first(metric("makespan"), comparison, comparison.schedulers[1]); };
  ASSERT_TRUE(paired());
  EXPECT_NEAR(paired()->difference.mean, -10, 1e-9);
  EXPECT_NEAR(paired()->difference.half_width, 4.303 / std::sqrt(3.0), 1e-9);
  EXPECT_EQ(paired()->difference.runs, 3u);
  ASSERT_TRUE(paired()->ratio);
  EXPECT_NEAR(paired()->ratio->mean, (0.9 + 0.955 + 289.0 / 300) / 3, 1e-9);
  EXPECT_EQ(relative(*paired()), "-6.1 ± 8.5 %");
  EXPECT_FALSE(paired_with_first(metric("completion_mean"), comparison, comparison.schedulers[1])) << "no job has ended";
  EXPECT_FALSE(paired_with_first(metric("makespan"), comparison, comparison.schedulers[0])) << "it is the first";
  comparison.schedulers[1].runs.pop_back();
  EXPECT_EQ(paired()->difference.runs, 2u) << "a seed that one of them lacks";
  comparison = of_makespans({0s}, {10s});
  EXPECT_FALSE(paired()->ratio) << "of nothing";
  EXPECT_EQ(relative(*paired()), "");
  comparison = of_makespans({100s}, {90s});
  EXPECT_EQ(relative(*paired()), "-10.0 %") << "one seed has no interval";
  EXPECT_TRUE(!varies(comparison));
  comparison = of_makespans({70s, 70s, 70s}, {49s, 49s, 49s});
  EXPECT_EQ(relative(*paired()), "-30.0 %") << "where nothing varies there is none either";
  EXPECT_TRUE(!varies(comparison));
  EXPECT_TRUE(varies(of_makespans({70s, 70s}, {49s, 50s})));
}

TEST(Metrics, FactorsAreOfTheSameJobs) {
  Comparison comparison = of_makespans({100s}, {100s});
  comparison.schedulers[0].runs[0].jobs = {job(0, 0s, 0s, 10s), job(1, 0s, 0s, 30s), job(2, 5s, 5s, 10s), job(3, 0s, 0s, 9s)};
  comparison.schedulers[1].runs[0].jobs = {job(0, 0s, 0s, 20s), job(1, 0s, 0s, 10s), job(2, 5s, 5s, 10s), job(3, 0s, 0s, 1s)};
  comparison.schedulers[1].runs[0].jobs[3].outcome = Outcome::failed;
  const auto value = [&](const std::string& key) { return value_of(metric(key), comparison, comparison.schedulers[1], 0); };
  EXPECT_EQ(value("factor_mean"), 1.5) << "1/2, 3 and 1";
  EXPECT_EQ(value("factor_min"), 0.5);
  EXPECT_EQ(value("factor_p50"), 1);
  EXPECT_EQ(value("factor_p75"), 2);
  EXPECT_NEAR(value("factor_p95").value_or(0), 2.8, 1e-9);
  EXPECT_NEAR(value("jobs_not_slower").value_or(0), 2.0 / 3, 1e-9);
  EXPECT_EQ(value_of(metric("factor_mean"), comparison, comparison.schedulers[0], 0), std::nullopt) << "the first has none";
}

TEST(Metrics, LatenessIsOfJobsThatEnded) {
  RunResult result;
  result.jobs = {job(0, 0s, 0s, 110s), job(1, 50s, 50s, 80s), job(2, 0s, 0s, 40s), job(3, 0s, 0s, 90s), job(4, 0s, 0s, 90s)};
  result.jobs[0].deadline = 100s;
  result.jobs[1].deadline = 50s + 10s;
  result.jobs[2].deadline = 45s;
  result.jobs[3].deadline = 10s;
  result.jobs[3].outcome = Outcome::failed;
  const auto value = [&](const std::string& key) { return metric(key).value(result, {}); };
  EXPECT_EQ(value("deadlines_missed"), 0.75) << "a job that failed has missed its own";
  EXPECT_EQ(value("lateness_mean"), 15);
  EXPECT_EQ(value("lateness_max"), 20);
  EXPECT_NEAR(value("lateness_part").value_or(0), (10.0 / 110 + 20.0 / 30) / 2, 1e-9);
  EXPECT_EQ(value("spare_mean"), 5);
  EXPECT_EQ(result.jobs[2].lateness(), -5s);
  EXPECT_EQ(result.jobs[3].lateness(), std::nullopt);
  EXPECT_EQ(result.jobs[4].lateness(), std::nullopt);
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
  for (const char* key : {"completion_mean", "jobs_per_hour", "deadlines_missed", "jain_jobs", "jain_users", "jain_fair_shares",
                          "node_local", "utilisation_cpu", "preempted_work", "launches_per_second", "decision_seconds"})
    EXPECT_EQ(value(key), std::nullopt) << key << " makes no sense of a run without anything";
  result.traffic = {Traffic{100, 60, 20}, Traffic{50, 40, 30}, Traffic{9, 8, 7}};
  result.fairness = {60s, {1}, {1}, {1}, 0.9, 0.8, 0.7};
  result.utilisation.cpu = 0.5;
  result.preemptions = 3, result.failed_attempts = 4, result.speculative = 5, result.node_deaths = 6, result.refused_decisions = 7;
  result.launches = 500, result.scheduler_calls = 1000, result.scheduler_time = 2s, result.wall_time = 4s;
  const std::map<std::string, double> expected{{"remote_bytes", 108},       {"cross_rack_bytes", 57},  {"cross_rack_map_read", 20},
                                               {"cross_rack_shuffle", 30},  {"cross_rack_output", 7},  {"jain_jobs", 0.9},
                                               {"jain_users", 0.8},         {"jain_fair_shares", 0.7}, {"utilisation_cpu", 0.5},
                                               {"preemptions", 3},          {"failed_attempts", 4},    {"speculative", 5},
                                               {"node_deaths", 6},          {"refused_decisions", 7},  {"launches_per_second", 250},
                                               {"decision_seconds", 0.002}, {"wall_seconds", 4}};
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
  spec.stages[0].planned = 2s;
  spec.stages[2].planned = 1s;
  EXPECT_EQ(time_alone(spec), 17s) << "a part begins when the one before has ended, and its driver has planned it";
}

TEST(Metrics, AreFormattedForPeople) {
  EXPECT_EQ(format_value(0.0000123, Format::seconds), "12.3 µs");
  EXPECT_EQ(format_value(1.5e-8, Format::seconds), "15 ns");
  EXPECT_EQ(format_value(1.08e-14, Format::seconds), "0 s");
  EXPECT_EQ(format_value(0.25, Format::seconds), "250 ms");
  EXPECT_EQ(format_value(12.345, Format::seconds), "12.3 s");
  EXPECT_EQ(format_value(12345.67, Format::seconds), "12345.7 s");
  EXPECT_EQ(format_value(1.234e12, Format::bytes), "1.23 TB");
  EXPECT_EQ(format_value(0.1234, Format::percent), "12.3 %");
  EXPECT_EQ(format_value(0, Format::bytes), "0 B");
}

}  // namespace
}  // namespace weft::simulator::report

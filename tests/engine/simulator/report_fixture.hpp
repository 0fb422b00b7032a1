// Results made up by hand, for the tests of reports.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "engine/simulator/report/comparison.hpp"

namespace weft::simulator::report {

using namespace std::chrono_literals;

inline JobResult job(std::size_t index, Time submitted, Time started, Time ended) {
  JobResult result;
  result.index = index;
  result.name = "job " + std::to_string(index);
  result.submitted = submitted;
  result.started = started;
  result.ended = ended;
  result.outcome = Outcome::finished;
  return result;
}

inline RunResult run(const std::string& scheduler, std::uint64_t seed, double slowness) {
  Random random(seed);
  RunResult result;
  result.scheduler = scheduler;
  result.seed = seed;
  Time at{0}, last{0};
  for (std::size_t i = 0; i < 200; ++i) {
    const Time wait(static_cast<std::int64_t>(random.uniform() * 40e9 * slowness));
    const Time length(static_cast<std::int64_t>(std::exp(random.uniform() * 5) * 1e9 * slowness));
    result.jobs.push_back(job(i, at, at + wait, at + wait + length));
    result.jobs.back().user = i % 3 == 0 ? "ann" : "<bob>";
    last = std::max(last, at + wait + length);
    at += 5s;
  }
  result.makespan = result.end = last;
  result.traffic[1] = {4e12 * slowness, 2e12 * slowness, 1e12 * slowness};
  result.traffic[0] = {1e12, 3e11, 1e11};
  result.series.step = 10s;
  result.series.users = {"<bob>", "ann"};
  result.series.rack_limits = {{1.25e9, 0}, {1.25e9, 0}};
  for (Time t{0}; t < last; t += 10s) {
    Sample sample;
    sample.capacity.cpu = 100;
    sample.used.cpu = 50 + 40 * std::sin(std::chrono::duration<double>(t).count() / 120);
    sample.running_tasks = sample.used.cpu;
    sample.pending_tasks = 100 * slowness * random.uniform();
    sample.running_jobs = 10;
    sample.tasks_of_users = {0.75 * sample.running_tasks, 0.25 * sample.running_tasks};
    sample.racks = {{1e9 * random.uniform(), 1e9}, {1e9, 1e9}};
    sample.traffic[1].cross_rack = 1e10 * slowness * random.uniform();
    result.series.samples.push_back(sample);
  }
  result.utilisation.cpu = 0.6;
  result.fairness = {60s, std::vector<double>(20, 0.8 / slowness), {}, {}, 0.8 / slowness, 1, 1};
  result.work.useful = 1000s;
  result.work.preempted = 250s;
  result.launches = 5000;
  result.scheduler_time = 10ms;
  result.scheduler_calls = 100;
  result.wall_time = 80ms;
  return result;
}

/// Two schedulers, of whose runs only the makespans are known.
inline Comparison of_makespans(const std::vector<Time>& fifo, const std::vector<Time>& fair) {
  Comparison comparison;
  comparison.schedulers = {{"fifo", {}}, {"fair", {}}};
  for (const Time makespan : fifo) comparison.schedulers[0].runs.emplace_back().makespan = makespan;
  for (const Time makespan : fair) comparison.schedulers[1].runs.emplace_back().makespan = makespan;
  return comparison;
}

inline Comparison made_up(std::size_t seeds) {
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

}  // namespace weft::simulator::report

// The jobs, the cluster and the pictures of the Adaptive scheduler's experiments: chapter 3 of J. Polo's thesis, "Multi-constraint
// scheduling of MapReduce workloads" (2014).
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"

namespace weft::papers {

inline const char* const kThesis = "Polo, Multi-constraint scheduling of MapReduce workloads, 2014, chapter 3";
inline const std::string kAsInThesis = "adaptive(order=need, late=first, reserve=0)";
constexpr std::uint32_t kTrackers = 60;
constexpr double kBlock = 64 << 20;

/// 60 nodes of a map and a reduce slot that report every three seconds, as Hadoop 0.21 has it for so many.
inline ClusterModel trackers(std::uint64_t seed, std::uint32_t accelerated = 0) {
  ClusterModel model = cluster(kTrackers - accelerated, 2);
  model.groups[0].capacity.map_slots = model.groups[0].capacity.reduce_slots = 1;
  if (accelerated > 0) {
    model.groups.push_back(model.groups[0]);
    model.groups[1].count = accelerated;
    model.groups[1].attributes = {{"accelerator", "cell"}};
  }
  model.heartbeat = seconds(3);
  model.seed = seed;
  return model;
}

inline Time of_seconds(double time) { return Time(std::llround(time * 1e9)); }

/// A job of maps, and of reduces if there are some. Schedulers are told nothing of lengths but the relative cost of a reduce.
struct Shape {
  std::string name;
  std::uint32_t maps;
  double map_seconds, spread;  // spread: of the lengths of maps, as a part of their mean
  std::uint32_t reduces;
  double reduce_seconds;
  double block = 0;  // bytes that a map reads
};

inline JobSpec made(const Shape& shape, double arrival, double goal, std::uint64_t seed, double stretch = 1) {
  Random random(seed, static_cast<std::uint64_t>(shape.maps) + static_cast<std::uint64_t>(arrival));
  StageSpec maps = stage(shape.maps, Time(0));
  for (std::uint32_t i = 0; i < shape.maps; ++i)
    maps.durations.push_back(of_seconds(stretch * shape.map_seconds * (1 + shape.spread * (2 * random.uniform() - 1))));
  maps.estimate = Time(0);
  maps.name = "map";
  maps.input_bytes = static_cast<std::uint64_t>(shape.block * shape.maps);
  std::vector<StageSpec> stages{maps};
  if (shape.reduces > 0) {
    stages.push_back(stage(shape.reduces, of_seconds(stretch * shape.reduce_seconds), {0}));
    stages.back().estimate = Time(0);
    stages.back().name = "reduce";
  }
  JobSpec spec = job(of_seconds(arrival), std::move(stages), shape.name);
  spec.name = shape.name;
  if (goal > 0) spec.deadline = of_seconds(goal);
  spec.hints.relative_reduce_cost = std::max(1e-3, shape.reduce_seconds / shape.map_seconds);
  return spec;
}

/// What ran where, over time.
struct Trace {
  struct Change {
    double at;
    int tasks;
  };
  std::map<std::size_t, std::vector<Change>> changes;   // maps that run, by job
  std::map<std::size_t, double> maps_ended;             // when the last map of a job did
  std::map<std::size_t, std::pair<int, int>> on, most;  // maps of a job that run on regular and on accelerated nodes; the most
  std::map<std::size_t, std::pair<int, int>> launched;  // likewise, all
  std::map<NodeId, bool> accelerated;
  RunOptions options;

  Trace() {
    options.on_event = [this](Time at, const master::Event& event) {
      if (const auto* joined = std::get_if<master::WorkerJoined>(&event)) accelerated[joined->node] = !joined->attributes.empty();
      const auto* ended = std::get_if<master::TaskFinished>(&event);
      if (ended == nullptr || ended->attempt.task.stage.value() != 0) return;
      maps_ended[job_of(ended->attempt)] = in_seconds(at);
      count(at, ended->attempt, ended->node, -1);
    };
    options.on_command = [this](Time at, const master::Command& command) {
      const auto* launch = std::get_if<master::LaunchTask>(&command);
      if (launch != nullptr && launch->attempt.task.stage.value() == 0) count(at, launch->attempt, launch->node, 1);
    };
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Tasks that run, in the mean of each of `steps` pieces.
  simulator::report::Points line(std::size_t job, double until, std::size_t steps = 240) const {
    std::vector<double> sums(steps, 0.0);
    const double step = until / static_cast<double>(steps);
    const auto found = changes.find(job);
    if (found == changes.end()) return {};
    double running = 0, before = 0;
    const auto add = [&](double from, double to) {
      for (auto i = static_cast<std::size_t>(from / step); i < steps && static_cast<double>(i) * step < to; ++i) {
        const double begin = static_cast<double>(i) * step;
        sums[i] += running * (std::min(to, begin + step) - std::max(from, begin)) / step;
      }
    };
    for (const Change& change : found->second) {
      add(before, change.at);
      running += change.tasks;
      before = change.at;
    }
    simulator::report::Points points;
    for (std::size_t i = 0; i < steps; ++i) points.push_back({static_cast<double>(i) * step, sums[i]});
    return points;
  }

 private:
  static std::size_t job_of(const AttemptId& attempt) { return attempt.task.job.value() - 1; }
  void count(Time at, const AttemptId& attempt, NodeId node, int change) {
    const std::size_t job = job_of(attempt);
    changes[job].push_back({in_seconds(at), change});
    int& here = accelerated[node] ? on[job].second : on[job].first;
    int& peak = accelerated[node] ? most[job].second : most[job].first;
    here += change;
    peak = std::max(peak, here);
    if (change > 0) ++(accelerated[node] ? launched[job].second : launched[job].first);
  }
};

inline Chart timeline(std::string file, std::string title, const Workload& workload, const Trace& trace, double until) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const JobSpec& one = workload.jobs[i];
    const double goal = in_seconds(one.arrival + one.deadline.value_or(Time(0)));
    curves.push_back({"goal of " + one.name, {{goal, 0}, {goal, kTrackers}}, true});
    curves.push_back({fmt::format("{}, maps", one.name), trace.line(i, until), false});
  }
  return line_chart(std::move(file), std::move(title), "time, s", "tasks that run", curves);
}

inline double elapsed(const RunResult& result, std::size_t job) { return in_seconds(result.jobs[job].completion_time().value()); }

}  // namespace weft::papers

// The data of a report: several schedulers on one workload, each with one run per seed, and for a replayed log the real run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/simulator/result.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::report {

struct SchedulerRuns {
  std::string scheduler;        // as the user wrote it
  std::vector<RunResult> runs;  // by seed
};

/// A job of the log and of the simulation.
struct ReplayedJob {
  std::string name;
  double recorded_seconds = 0, simulated_seconds = 0;  // from arrival to end
  double error() const { return recorded_seconds > 0 ? simulated_seconds / recorded_seconds - 1 : 0; }
};
struct Replay {
  std::string scheduler;
  std::vector<ReplayedJob> jobs;  // those that ended in both
  double recorded_makespan = 0, simulated_makespan = 0;
  std::uint64_t launches = 0, launches_alike = 0;  // of the log; and how many of these the run has, in order and on their nodes
  double makespan_error() const { return recorded_makespan > 0 ? simulated_makespan / recorded_makespan - 1 : 0; }
  double mean_absolute_error() const;
};

struct Comparison {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // label and value: workload, cluster, options
  std::vector<std::uint64_t> seeds;
  std::vector<SchedulerRuns> schedulers;  // the others are compared with the first
  std::vector<std::vector<Time>> alone;   // by seed, by job: time_alone()
  std::vector<Replay> replays;            // by scheduler, of its first seed; empty without a log
};

/// The time of the job with unlimited nodes and no bytes to move: its longest path of longest tasks.
Time time_alone(const JobSpec& job);

/// `recorded_ends` are times as in the results, by job; jobs without one are left out.
Replay compare_with_recording(const RunResult& run, const std::vector<std::optional<Time>>& recorded_ends);

}  // namespace weft::simulator::report

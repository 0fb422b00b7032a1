// What `weft simulate` does: a workload under several schedulers, each with several seeds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/simulator/experiment/cluster_options.hpp"
#include "engine/simulator/report/comparison.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::experiment {

struct Options {
  std::string workload;                 // "KIND:FILE,…"; or
  std::string from_log;                 // an event log; its nodes are the cluster unless others are given
  Duration last{0};                     // only jobs of that time before its end; 0: all
  std::vector<std::string> schedulers;  // empty: that of the log, or fifo
  bool deadlines = false;               // with no schedulers given: adds those that are usual for deadlines
  std::vector<std::string> plugins;     // shared objects with further schedulers
  /// Called on another thread when a plugin's scheduler has not returned for kStallTimeout. The run cannot be stopped: end the
  /// process.
  std::function<void(const Error&)> on_stall;
  workloads::Resize resize;
  ClusterOptions cluster;
  double one_machine = 0;  // units of each resource of the only node; 0: the nodes of `cluster`
  std::uint64_t seed = 1;
  std::uint32_t seeds = 1;
  Time series_step{0};  // 0: about 500 steps in the estimated length of the run
  std::optional<Time> until;
  std::string event_log;  // of the only run
  /// The jobs of a workload that is not random itself arrive in another order with each seed (workloads/variations.hpp). The runs
  /// are then not compared with what a log recorded.
  bool reorder = false;
  /// Set: schedulers know the task durations of this part of the jobs only, drawn by the seed. A log knows what they knew then.
  std::optional<double> known;
  /// Called before each run but the first; true: no further runs. Of the first seed, schedulers without a run are left out of the
  /// results; later seeds are left out as a whole.
  std::function<bool()> enough;
};

inline constexpr Duration kStallTimeout = std::chrono::seconds(5);

/// Called with a line about each run, in the order of seeds and schedulers: for people who wait. As many seeds as there are
/// processors are simulated at a time, and their lines come when all their runs have ended.
using Progress = std::function<void(const std::string& line)>;

/// The workload of the first seed, scaled and cut as the runs see it.
Result<Workload> load_workload(const Options& options);

/// invalid_argument, and the errors of loaders, schedulers and the simulator. Jobs that the cluster refuses are in the results.
Result<report::Comparison> run(const Options& options, const Progress& progress);

/// One line about the jobs that no node can take; nothing when there are none.
std::optional<Error> refusal(const report::Comparison& comparison);
/// One line about the jobs that had not ended when nothing more happened; nothing when there are none, or when `Options::until`
/// ends the runs.
std::optional<Error> never_finished(const Options& options, const report::Comparison& comparison);

}  // namespace weft::simulator::experiment

// The figures of a workload: to check a loader against published counts, and to look at before a simulation.
#pragma once

#include <cstdint>
#include <string>

#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// Bytes are decimal sums over the jobs; "heavy" jobs shuffle more than they read; depth counts the stages on the longest path.
struct Figures {
  std::size_t jobs = 0, stages = 0, edges = 0;
  std::uint64_t tasks = 0, first_stage_tasks = 0, largest_first_stage = 0;
  Time span{0};  // from first to last arrival
  double mean_gap = 0;
  double input_bytes = 0, shuffle_bytes = 0, output_bytes = 0;
  std::size_t without_shuffle = 0, heavy = 0;
  double heavy_shuffle_bytes = 0;
  double ratio_p50 = 0, ratio_p75 = 0, ratio_p90 = 0, ratio_p95 = 0;  // shuffle over input, of jobs that shuffle and read
  std::size_t large_shuffles = 0;                                     // 10 GB or more
  double large_shuffle_bytes = 0;
  double input_p50 = 0, input_p90 = 0, input_p99 = 0, largest_input = 0;
  double stages_p50 = 0, stages_p95 = 0, depth_p50 = 0;
  std::size_t most_stages = 0;
  double work_seconds = 0;  // of all tasks
  std::size_t hosts = 0, racks = 0;
  std::size_t users = 0, pools = 0, deadlines = 0;
};

Figures figures_of(const Workload& workload);

/// A line per figure. Figures that do not apply to the workload are left out.
std::string to_text(const Workload& workload, const Figures& figures);
std::string to_json(const Workload& workload, const Figures& figures);

}  // namespace weft::simulator::workloads

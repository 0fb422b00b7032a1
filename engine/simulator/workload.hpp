// The work of a simulated cluster: jobs of stages with true durations and byte counts. Loaders of traces and the generator make it,
// the simulator consumes it. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/core/job_options.hpp"
#include "schedulers/view/view.hpp"

namespace weft::simulator {

using Time = schedulers::Time;

/// Nodes with this attribute do the work of a task `factor` times as fast as other nodes of their speed.
struct Speedup {
  std::string attribute, value;
  double factor = 1;
};

/// Tasks that do the same, after all tasks of all parents: a barrier, except for shuffle readers with slow start.
///
/// A task moves its input to its node (storage blocks if there are any, then its partition of each parent's shuffle), works for
/// its duration, and writes its output. The model of disks and network decides how long the moves take.
struct StageSpec {
  /// An attempt that failed.
  struct Failure {
    Time after{0};             // its work until then
    bool environment = false;  // the worker's fault, not the task's
    friend bool operator==(const Failure&, const Failure&) = default;
  };
  std::string name;
  std::uint32_t tasks = 1;
  std::vector<std::uint32_t> parents;                      // indexes of earlier stages of the job
  Time duration{0};                                        // of each task's work on a node of speed 1, moving bytes aside
  std::vector<Time> durations;                             // by task, where they differ; empty: all `duration`
  std::map<std::uint32_t, std::vector<Failure>> failures;  // by task: its first attempts, all of which fail
  std::optional<Time> estimate;                            // for schedulers, instead of the mean of the durations; 0: none
  /// Set: a part of the plan begins with this stage. The driver submits it that long after the results of the part before; for the
  /// first stage, after the job's arrival. Unset: the stage comes with the part before.
  std::optional<Time> planned;
  std::optional<schedulers::StageProfile> profile;  // its profile then, where the workload was recorded
  schedulers::Resources demand;                     // of each task; all zero: one cpu
  schedulers::Resources load;     // of each task on its node while it works (InterferenceModel); all zero: the job's profile
                                  // of the phase, or the demand
  std::vector<Speedup> speedups;  // on special nodes; of several that fit a node the largest counts

  std::uint64_t input_bytes = 0;                // read from storage by all tasks, in equal parts
  std::vector<std::vector<std::string>> hosts;  // by task, the hosts of its input's replicas; empty: the simulator places them
  std::uint64_t shuffle_bytes = 0;              // written for its children by all tasks, in equal parts
  std::uint32_t broadcast = 0;                  // 1: its shuffle is one partition, and each task of its readers reads all of it
  std::uint32_t merged = 0;                     // 1: its tasks read small partitions together, and are not preplaced
  double partition_skew = 0;                    // Zipf exponent of the shuffle's partition sizes; 0: equal
  std::vector<double> partition_weights;        // of the partitions of its shuffle, where known; overrides the skew
  /// By task, the bytes that it reports as written for each partition. Empty: not known, or the readers have other partitions.
  std::vector<std::vector<std::uint64_t>> written;
  std::vector<std::uint64_t> read;              // by task, the bytes that it reports as read from its input; empty: not known
  std::vector<std::uint32_t> sample_histogram;  // of what its tasks read, over the partitions, as they report it; empty: not known
  std::uint64_t output_bytes = 0;               // written to storage (and replicated) by all tasks, in equal parts

  Time mean_duration() const {
    if (durations.empty()) return duration;
    return std::accumulate(durations.begin(), durations.end(), Time(0)) / static_cast<std::int64_t>(durations.size());
  }
  Time longest_duration() const { return durations.empty() ? duration : *std::max_element(durations.begin(), durations.end()); }
};

struct JobSpec {
  std::string name;
  /// All options but deadline, weight and hints, which are below. What is unset is as the cluster model has it.
  master::JobOptions options{};
  Time arrival{0};
  std::optional<Time> deadline;  // since arrival
  schedulers::JobHints hints;
  std::vector<StageSpec> stages;  // parents before children
};

/// The longest path through the stages of a job, of which each has the length `length(stage)`.
template <class Length>
auto longest_path(const JobSpec& job, Length length) {
  using Path = decltype(length(StageSpec()));
  std::vector<Path> ends;
  Path longest{};
  for (const StageSpec& stage : job.stages) {
    Path begin{};
    for (const std::uint32_t parent : stage.parents) begin = std::max(begin, ends[parent]);
    ends.push_back(begin + length(stage));
    longest = std::max(longest, ends.back());
  }
  return longest;
}

/// A machine that a trace names.
struct HostSpec {
  std::string name, rack;  // the rack is empty where the trace does not say
};

struct Workload {
  std::string name;
  std::vector<HostSpec> hosts;                // to make a cluster of, on which tasks find their input; empty: the trace names none
  std::vector<JobSpec> jobs;                  // by arrival
  std::optional<std::uint32_t> hash_order{};  // jobs of one moment are to enter as in a Java hash set (workloads/hash_order.hpp)
  std::vector<std::string> notes;             // what a loader left out or made up, a sentence each
};

}  // namespace weft::simulator

// Jobs as an event log has them, and the workload that repeats them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "engine/master/log/event_line.hpp"
#include "engine/simulator/workloads/recording.hpp"

namespace weft::simulator::workloads {

struct LoggedTask {
  std::map<std::uint32_t, Time> started;           // by attempt
  std::map<std::uint32_t, std::string> functions;  // by attempt: the attribute ("accelerator=gpu") for which it ran functions
  std::string ran;                                 // that of the attempt that finished first; empty: it ran the usual functions
  std::optional<Time> duration;                    // of the first attempt that finished
  std::vector<StageSpec::Failure> failures;
  std::uint32_t partitions = 1;
  bool finished = false;
  std::uint64_t read = 0;              // bytes of its input, by the attempt that finished first
  std::vector<std::uint64_t> written;  // bytes for each partition, by the same attempt
};

struct StageLog {
  master::LoggedStage plan;
  std::vector<std::uint32_t> barriers;  // stages that the driver had waited for before it planned this one
  std::vector<LoggedTask> tasks;
  std::uint64_t input_bytes = 0;
  std::vector<std::uint64_t> partition_bytes;  // over all maps
  bool merged = false;                         // some of its tasks read several partitions
  Time ended{0};                               // the end of its last task
  std::size_t part = 0;                        // of the plan
  std::vector<std::uint32_t> sample_histogram{};
  bool complete() const {
    return std::all_of(tasks.begin(), tasks.end(), [](const LoggedTask& task) { return task.finished; });
  }
};

struct JobLog {
  JobSpec spec;
  schedulers::Resources demand;
  Time submitted{0};
  std::vector<Time> parts;  // of its plan: the time since the end of the part before (the first: since the submission)
  Time last_end{0};
  std::map<std::uint32_t, StageLog> stages;
  std::vector<std::uint32_t> targets;                // of the plan part before
  std::map<std::uint32_t, std::uint32_t> positions;  // in the workload, of stages that ran
  std::optional<std::uint32_t> position;             // in the workload, if the job is in it
};

/// By number.
using JobLogs = std::map<std::uint64_t, JobLog>;

struct LoggedLaunch {
  std::uint64_t job = 0;
  std::uint32_t stage = 0, task = 0, node = 0;  // the node by its place in the recording
};

/// Counts of what was left out of a recording, or guessed.
struct RecordingNotes {
  std::size_t earlier = 0;  // jobs of earlier runs of the master
  std::size_t later = 0;    // of later ones, in which no task ended
  bool idle_since = false;  // there were such runs
  std::size_t before = 0;   // jobs that were submitted before the time that is asked about
  std::size_t unknown = 0;  // tasks without a known time
  std::size_t split = 0;    // stages with hot partitions that were split
  std::size_t merged = 0;   // stages with small partitions that were merged
  std::size_t empty = 0;    // jobs without a finished task
  std::size_t alike = 0;    // stages for which the speed-up of nodes with an attribute is not known
};

/// Adds the jobs to the recording, in the order of their arrivals and with times since the first one, and the notes in words. False
/// when no task of any job ended. The logs are used up.
bool make_recording(JobLogs& jobs, const std::vector<LoggedLaunch>& launches, Recording& recording, RecordingNotes& notes);

}  // namespace weft::simulator::workloads

// What the event log of a master says of one job's shuffles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::bench {

/// One shuffle: the stage that writes it and the one that reads it. Of every task the attempt that ended first counts.
struct ShuffleRun {
  // From the first task's start, or from the end of its inputs if that is later, to the last one's end; the reduces from the end of
  // the maps.
  double map_seconds = 0, reduce_seconds = 0;
  // Of the median task: storing its output, and waiting for its input.
  double write_seconds = 0, read_seconds = 0;
  std::uint64_t bytes = 0;        // in all
  std::uint64_t moved = 0;        // of these, read on another node than they were written on
  std::uint64_t least_moved = 0;  // the same, had every reduce run where most of its input was
};

struct JobRun {
  std::uint64_t job = 0;
  std::int64_t began_ns = 0, ended_ns = 0;  // on the calendar
  std::vector<ShuffleRun> shuffles;         // in the order of their readers
};

/// Of every job that has ended well, in the order of their submission. `corrupt` for what is no event log, and for a log of which
/// something is missing.
Result<std::vector<JobRun>> read_runs(const std::string& event_log);

}  // namespace weft::bench

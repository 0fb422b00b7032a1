// What a master that starts knows of the one before, as its core takes it (Core::restore). It is what was decided and what ended,
// so nothing of it is decided again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/master/core/core.hpp"
#include "engine/master/core/partition_shape.hpp"

namespace weft::master {

struct RestoredNode {
  WorkerJoined joined;
  Time at{0};
};

// `restarts`: of masters, since it was recorded.

/// How the partitions of a stage became tasks.
struct StageShape {
  StageId stage;
  std::vector<std::uint32_t> bounds;  // empty: not merged
  SkewSplits splits;
  /// Attempts with smaller numbers do not count: they were of other tasks, or read what has been made again since.
  std::uint32_t first = 0;
};

struct RestoredEnd {
  TaskFinished event;
  Time launched{0}, ended{0};
  std::uint32_t restarts = 0;
  std::uint32_t next = 0;  // attempt at the task, when it was recorded
};

/// An attempt that ran when it was recorded.
struct RestoredLaunch {
  AttemptId attempt;
  NodeId node;
  Time at{0};
  std::uint32_t restarts = 0;
  std::uint32_t next = 0;
};

struct RestoredFailures {
  std::uint32_t attempt = 0;  // that failed last
  std::uint32_t count = 0;    // of those that count
  std::uint32_t restarts = 0;
  std::uint32_t next = 0;
};

struct RestoredJob {
  JobSubmitted submission;
  Time submitted{0};
  double slow_start = 1;
  std::uint32_t restarts = 0;
  std::vector<plan::PlanPart> parts;
  std::vector<StageShape> shapes;
  std::vector<RestoredEnd> finished;
  std::vector<RestoredLaunch> launched;
  std::map<TaskId, RestoredFailures> failures;
  JobStatus last;  // as it was recorded last
};

struct Restored {
  std::vector<JobStatus> ended;  // in the order of their ends
  std::vector<RestoredNode> nodes;
  std::vector<RestoredJob> jobs;
  /// Fills in what history says of the part's stages, when its job is in the view; may be empty.
  std::function<void(PlanExtended&)> profiles;
};

}  // namespace weft::master

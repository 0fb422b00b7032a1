// Packs the tasks of a DAG that wait to be launched into a constant amount of resources: when can each begin?
//
// Forwards, tasks begin as early as possible. Backwards, the DAG is packed with its edges reversed and the result is played from
// its end (Carbyne, section 3.3): a task that begins at Rev in the reversed schedule begins at T - Rev - duration. So tasks begin
// about as late as possible without making the whole longer.
//
// Both are list scheduling: at the beginning and whenever tasks end, tasks begin in the order of IntraOrder as long as one of a
// ready stage fits. Tasks of a stage are alike, so the cost of a step depends on the number of ready stages, not of tasks; and
// while a stage alone begins tasks whenever its last ones end, all these waves are one step.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/planning/alignment.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// Running tasks, and when they end; times are counted from the moment of planning.
struct RunningTasks {
  Time until{0};
  std::uint32_t tasks = 0;
};

struct DagStage {
  Parts demand{};                                // of a task
  Time duration{1};                              // of a task; more than 0
  std::uint32_t waiting = 0;                     // tasks that are not launched
  std::vector<RunningTasks> running;             // ascending
  std::vector<std::uint32_t> parents, children;  // positions; parents stand before their children, finished stages nowhere
};
using Dag = std::vector<DagStage>;

enum class Direction : std::uint8_t { forwards, backwards };

/// Which of the tasks that fit begins first: that of the stage with the smallest rank. Without ranks, by packing: the task whose
/// demand is best aligned with the free capacity (Tetris), rounded to `digits` before it is compared (then a task that scores 0
/// waits).
struct IntraOrder {
  std::vector<double> rank{};  // by stage; empty: by packing
  Digits digits{};
};

/// Tasks of a stage that begin together; `times` such waves, each when the one before ends. While they run, nothing else begins.
struct PlannedLaunches {
  Time start{0};            // of the first wave
  std::uint32_t stage = 0;  // position
  std::uint32_t tasks = 0;  // of each wave
  std::uint32_t times = 1;

  /// `duration`: of a task.
  Time end(Time duration) const { return start + duration * times; }
};

struct DagPlan {
  std::vector<PlannedLaunches> launches;  // ascending by start
  Time length{0};                         // until the last task has ended
  bool complete = true;                   // false: some task is larger than the capacity; it and those after it are not planned
};

/// `capacity`: for waiting and running tasks together, in the unit of the demands. Running tasks alone may have more than that.
DagPlan pack(const Dag& dag, const Parts& capacity, Direction direction, const IntraOrder& order = {});

/// Of each stage the negative length of the longest path to the end of the DAG or, backwards, from its beginning.
std::vector<double> ranks_by_path(const Dag& dag, Direction direction);

}  // namespace weft::schedulers

// Packs the tasks of a DAG that wait to be launched into a constant amount of resources: when could each begin?
//
// Forwards, tasks begin as early as they can. Backwards, the DAG is packed with its edges reversed and the result is played from
// its end (Carbyne, section 3.3): a task that the reversed schedule begins at Rev begins at T - Rev - duration. So tasks begin
// about as late as they can for the whole to last as long.
//
// Both are list scheduling: at the beginning and whenever tasks end, as long as some task fits that may begin, the first in the
// order of IntraOrder begins. Tasks of a stage are alike, so a step costs the number of stages that may begin, not of tasks.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/planning/alignment.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// Tasks that run, and until when; times are counted from the moment of planning.
struct RunningTasks {
  Time until{0};
  std::uint32_t tasks = 0;
};

struct DagStage {
  Parts demand{};                                // of a task
  Time duration{1};                              // of a task; more than 0
  std::uint32_t waiting = 0;                     // tasks that were not launched
  std::vector<RunningTasks> running;             // ascending
  std::vector<std::uint32_t> parents, children;  // positions; parents stand before their children, finished stages nowhere
};
using Dag = std::vector<DagStage>;

enum class Direction : std::uint8_t { forwards, backwards };

/// Which task first, of those that fit. packing: the one whose demand is best aligned with what is free (Tetris), rounded to
/// `digits` before it is compared (then a task that scores nothing waits). by_rank: that of the stage with the smallest rank.
struct IntraOrder {
  std::vector<double> rank{};  // by stage; empty: packing
  Digits digits{};
};

struct PlannedLaunches {
  Time start{0};
  std::uint32_t stage = 0;  // position
  std::uint32_t tasks = 0;
};

struct DagPlan {
  std::vector<PlannedLaunches> launches;  // ascending by start
  Time length{0};                         // until the last task has ended
  bool complete = true;                   // false: some task is larger than the capacity, and what needs it is not planned
};

/// `capacity`: for waiting and running tasks together, in the unit of the demands. Running tasks may have more than that.
DagPlan pack(const Dag& dag, const Parts& capacity, Direction direction, const IntraOrder& order = {});

/// Of each stage the longest path to the end of the DAG or, backwards, from its beginning: with a minus, so that it is a rank.
std::vector<double> ranks_by_path(const Dag& dag, Direction direction);

}  // namespace weft::schedulers

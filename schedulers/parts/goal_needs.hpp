// How many slots a job needs now to meet its goal, on each class of nodes (Polo's thesis, sections 3.3 and 3.4).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/parts/measured_tasks.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

/// Of one job, for its stages that take slots of one kind. A slot runs one task of these stages.
struct GoalNeeds {
  struct OfClass {
    double required = 0;      // slots; of a job that is as fast on every class, on all classes together
    double running = 0;       // tasks; the same
    double scale = 1;         // slots of class 0 that do as much as one of this class
    bool prefers = true;      // its tasks are faster here; or they are faster nowhere, and this is class 0
    bool calibrates = false;  // none of its tasks has run here, and the profile has no duration for this class
    bool useful = true;       // a task launched now ends before the job would end without it, or before its goal
    double need() const { return required - running; }  // negative: it has more than enough
  };
  std::vector<OfClass> of_class;
  bool has_goal = false, late = false;
  bool unattainable = false;   // no number of slots is enough for its goal
  bool measured = true;        // the durations of its tasks are known
  double speedup = 1;          // of the fastest class over class 0; more than 1 only above the threshold
  double seconds = 0;          // that the job still needs, of one slot as fast as the average one
  double at_best = 0;          // seconds until it would end with all slots of the cluster
  double past_goal = 0;        // seconds since the goal; negative before it
  double running_seconds = 0;  // whole durations of its running tasks together
  double allowed = 1;          // seconds from the submission to the goal
  double weight = 1;

  double running() const;
  /// How long after its goal the job is expected to end with the slots it has, as a part of the time from submission to goal.
  double lateness() const { return (past_goal + seconds / std::max(running(), 0.5)) / allowed; }
};

struct GoalRules {
  double threshold = 1.2;  // a class of nodes that is faster by at most this factor is like class 0
  /// Durations of tasks that are kept in reserve before the goal: of its own tasks, because the last ones do not all end together,
  /// and of presently running tasks for each later phase, because a job gets slots back only when tasks of others end.
  double reserve = 1;
  /// By which part of its expected duration a task may take longer. A task on a slower class is of no use if it could then end
  /// after the goal, and after the job would end without it.
  double margin = 0;
};

/// `available`: by class, the slots that this job can have there; not used for class 0, and for a job that is as fast everywhere.
/// `handover`: mean seconds of the tasks that run at present.
GoalNeeds goal_needs(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, SlotKind kind,
                     const std::vector<double>& available, double handover, const GoalRules& rules);

}  // namespace weft::schedulers

// How many slots a job needs now so that it meets its goal, on each class of nodes (Polo's thesis, sections 3.3 and 3.4).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/parts/measured_tasks.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

/// Of one job, and of its stages that take slots of one kind. Slots are tasks of these stages.
struct GoalNeeds {
  struct OfClass {
    double required = 0;      // slots; of a job that is as fast everywhere, on all classes together
    double running = 0;       // likewise
    double scale = 1;         // slots of class 0 that do as much as one of this class
    bool prefers = true;      // the job belongs here: its tasks are faster, or it is nowhere faster and this is class 0
    bool calibrates = false;  // none of its tasks has been tried here, and nobody said how long one takes
    bool useful = true;       // a task begun now ends before the job would without it, or before its goal
    double need() const { return required - running; }  // negative: more than enough
  };
  std::vector<OfClass> of_class;
  bool has_goal = false, late = false;
  bool hopeless = false;       // no number of slots is enough
  bool measured = true;        // it is known how long its tasks take
  double speedup = 1;          // of the fastest class over class 0; more than 1 only above the threshold
  double seconds = 0;          // of one slot, as all slots are on average, that the job still needs
  double past_goal = 0;        // seconds since the goal; negative before it
  double running_seconds = 0;  // that its running tasks take in all
  double allowed = 1;          // seconds from the submission to the goal
  double weight = 1;

  double running() const;
  /// By how much of the time it was given the job is expected to end after its goal, with the slots it has.
  double lateness() const { return (past_goal + seconds / std::max(running(), 0.5)) / allowed; }
};

struct GoalRules {
  double threshold = 1.2;  // a class whose nodes are no more than so many times as fast is like class 0
  /// Tasks whose time is kept before the goal: one of its own for the last ones, which do not all end together, and one of those
  /// that run at present for each later phase, because a job that has given its slots away gets them back as others end.
  double reserve = 1;
  /// By how much tasks may take longer than they are expected to, as a part of that. A task on a slower class that could then end
  /// after the goal, and after the job without it, is of no use.
  double margin = 0;
};

/// `available`: by class, slots that this job can have there; of class 0 and of a job that is as fast everywhere it does not
/// matter. `handover`: seconds that tasks of the jobs take which run at present.
GoalNeeds goal_needs(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, SlotKind kind,
                     const std::vector<double>& available, double handover, const GoalRules& rules);

}  // namespace weft::schedulers

// The work left of a job, the slots that it needs to end in time, and its duration with a number of slots: the model behind
// completion-time goals (J. Polo, "Multi-constraint scheduling of MapReduce workloads", 2014, sections 3.3 and 3.4).
//
// The rest of a job is a sequence of phases. The stages of a phase run side by side, and a phase begins when the one before has
// ended. A running task is taken to last as long as the mean of its stage; one that has run for longer is taken to end at once.
// Lengths that were measured in this run count before those of the program or history, so that a wrong profile is forgotten with
// the first task that ends.
//
// Pure functions of the view. Seconds and slots are real numbers: a slot runs one task at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The stages of a job that run side by side, or one of them.
struct PhaseLeft {
  double work = 0;     // seconds of one slot
  double tasks = 0;    // that have not ended; more slots than these are of no use
  double longest = 0;  // least seconds until its last task ends: a whole task while some wait
  double waiting = 0;  // tasks that have not begun
};

/// Seconds that a task of the stage takes: the mean of those that have ended, else by the program, else by history, else, for
/// readers of shuffles, the mean of the job's maps times the relative cost of a reduce. Nothing: not known yet. `oldest`: when the
/// running task was launched that has run longest; where no task has ended, a task takes at least as long as that has run.
std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                  std::optional<Time> oldest = std::nullopt);

/// The same, with `measured`, in seconds, as the mean of those that have ended.
std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::optional<Time> oldest,
                                  std::optional<double> measured);

/// The part, from 1 to 0, of a task of that length (seconds) that is left after `elapsed`.
double part_left(double length, Time elapsed);

/// The work left of the stage. Nothing: the length of its tasks is not known. Looks at each of its tasks when some run.
std::optional<PhaseLeft> stage_left(const ClusterView& view, const JobInfo& job, const StageInfo& stage);

/// The phase of each stage of the job: the length of the longest path of unfinished stages before it. Phase 0 can run now.
std::map<StageId, std::size_t> phases_of(const JobInfo& job);

/// The work left of a job, phase by phase. Stages of unknown length are in no phase, and are counted.
struct WorkLeft {
  std::vector<PhaseLeft> phases;
  std::size_t unknown = 0;  // unfinished stages of unknown task lengths

  double seconds() const;  // of one slot
};
WorkLeft work_left(const ClusterView& view, const JobInfo& job);

/// Seconds until the phases have ended, with `slots` slots at all times: at least the longest task of each.
double seconds_with(std::span<const PhaseLeft> phases, double slots);

/// Slots that the phases need at all times to end within `seconds`. For one phase it is equation (1) of the thesis, (Σ δ / μ + |U|)
/// · μ / (T_goal − now); for several, the later ones must have time to end with as many slots. May be more than there are tasks, up
/// to kMostWaves for each task: then no number of slots is enough.
double slots_needed(std::span<const PhaseLeft> phases, double seconds);
constexpr double kMostWaves = 10;

/// Eq. (3) and its example. A job needs `needed` slots on one class of nodes and has `there` of them: the slots that it needs
/// instead on a class where its tasks take `slowdown` times as long. Never negative.
double slots_elsewhere(double needed, double there, double slowdown);

}  // namespace weft::schedulers

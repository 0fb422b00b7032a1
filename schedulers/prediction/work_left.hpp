// What a job still has to do, how many slots it needs to be done in time, and how long it takes with so many: the model behind
// completion-time goals (J. Polo, "Multi-constraint scheduling of MapReduce workloads", 2014, sections 3.3 and 3.4).
//
// The rest of a job is a sequence of phases; the stages of a phase run side by side, and a phase begins when the one before has
// ended. A task that runs is taken to need the mean length of its stage in all, and one that has run for longer to be done soon.
// Lengths that were measured in this run count before what the program or history says, so that a wrong profile is forgotten with
// the first task that ends.
//
// Pure functions of the view. Seconds and slots are real numbers: a slot has room for one task.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The stages of a job that run side by side, or one of them.
struct PhaseLeft {
  double work = 0;     // seconds of one slot
  double tasks = 0;    // that have not ended; more slots are of no use
  double longest = 0;  // seconds until its last task can end at the earliest: a whole task while some wait
  double waiting = 0;  // tasks that have not begun
};

/// Seconds that a task of the stage takes: the mean of those that have ended, else what the program says, else history, else, for
/// readers of shuffles, what maps of the job take times the relative cost of a reduce. Nothing: not known yet. Where no task has
/// ended, at least as long as the one that runs longest has run: `oldest` is when that was launched.
std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                  std::optional<Time> oldest = std::nullopt);

/// The same where `measured`, in seconds, stands for the mean of those that have ended.
std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::optional<Time> oldest,
                                  std::optional<double> measured);

/// The part of a task of that length, in seconds, that is left after `elapsed`: from 1 to 0.
double part_left(double length, Time elapsed);

/// What is left of the stage: a look at each of its tasks when some run. Nothing: it is not known how long its tasks take.
std::optional<PhaseLeft> stage_left(const ClusterView& view, const JobInfo& job, const StageInfo& stage);

/// The phases that stages of this job belong to, by how many unfinished stages lie before them: 0 can run now.
std::map<StageId, std::size_t> phases_of(const JobInfo& job);

/// What is left of a job, the phase that runs first. Those whose length is not known, which is in no phase, are counted.
struct WorkLeft {
  std::vector<PhaseLeft> phases;
  std::size_t unknown = 0;  // unfinished stages of unknown task lengths

  double seconds() const;  // of one slot
};
WorkLeft work_left(const ClusterView& view, const JobInfo& job);

/// Seconds until the phases have ended, with `slots` slots at all times: at least the longest task of each.
double seconds_with(std::span<const PhaseLeft> phases, double slots);

/// Slots that the phases need at all times to end within `seconds`: equation (1) of the thesis, (Σ δ / μ + |U|) · μ / (T_goal −
/// now), where there is one phase; otherwise what leaves the later ones their time with as many slots. May be more than there are
/// tasks, up to kMostWaves for each: then no number of slots is enough.
double slots_needed(std::span<const PhaseLeft> phases, double seconds);
constexpr double kMostWaves = 10;

/// Eq. (3) and the example behind it: slots of a class of nodes that a job needs beside the `there` slots of the class where it
/// needs `needed`, when its tasks take `slowdown` times as long there; never negative.
double slots_elsewhere(double needed, double there, double slowdown);

/// How many times as many slots a job needs whose tasks take `length` percent of the time to its goal, when it is noticed with
/// `left` percent of that time to go (section 3.4.6); infinite when not one task fits into it.
double correction_factor(double left, double length);
/// Percent of the job's length that it ends beside its goal when the length of its reduces, `part` percent of its own, was wrong by
/// `deviation` percent.
double reduce_deviation(double part, double deviation);

}  // namespace weft::schedulers

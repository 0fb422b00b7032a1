// The Adaptive scheduler: jobs have completion-time goals (--deadline), and each gets the slots that it needs to meet its goal (J.
// Polo, "Multi-constraint scheduling of MapReduce workloads", 2014, chapter 3; Polo et al., NOMS 2010, ICPP 2010, TNSM 2013).
//
// A job needs (Σ δ / μ + |U|) · μ / (T − now) − |R| more slots: the work left of its running and pending tasks, by the mean length
// of ended ones, over the time to its goal, less its running tasks. First come jobs without an ended task, the oldest first; then
// jobs that need slots, the nearest goal first; then jobs that cannot meet their goals; then all, so that each gets the same more
// than it needs. Jobs without a goal need nothing and share that part by weight. Nothing is killed. Where not all goals can be met,
// jobs with much work give theirs up, so that as many as possible are met. Because estimates err, a job gets `margin` more slots
// than it needs, as a part of them, before jobs that cannot meet their goals, and while it needs slots its tasks do not wait for
// the nodes that their input is prefetched to.
//
// order=need, late=first and reserve=0 is the scheduler of the thesis: late jobs before all others, the latest for its time first;
// then the job that lacks most slots. Where goals are tight it spreads the lack over all jobs, so that most miss their goals by a
// little.
//
// Data affinity: a job that has what it needs skips `delays` nodes for each task that would be far from its input. Hardware
// affinity: nodes form classes by an attribute. Lengths are measured on each class, and one task of each job is tried on each. A
// job that is more than `speedup` times as fast on a class gets its slots there first, and the rest, as more slower slots,
// elsewhere.
//
// Deviates:
// - The time of `reserve` tasks is kept before the goal, because the last tasks do not end together, and of as many presently
// running
//   tasks for each later phase, because a job that gave its slots away waits for others (0: as in the thesis).
// - Later stages of any graph have time to end with as many slots as the job needs now (in the thesis: reduces, at a fixed cost).
// - Before the first task ends, lengths are those of the program or history; a profile's ratio of classes counts until five tasks
// have
//   ended on each class.
// - Of several jobs that are faster on a class, the one that gains most gets it first. A task that would end after both the goal
// and
//   the end of the job without it is not launched on a slower class. A job that has long had no slot on a faster class takes slower
//   ones.
// - Needs of jobs without events are computed once a second.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_adaptive(Options& options, const Registry& registry);

}  // namespace weft::schedulers

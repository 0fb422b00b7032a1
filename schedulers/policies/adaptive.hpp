// The Adaptive scheduler: jobs have completion-time goals (--deadline), and each gets the slots that it needs to meet its own (J.
// Polo, "Multi-constraint scheduling of MapReduce workloads", 2014, chapter 3; Polo et al., NOMS 2010, ICPP 2010, TNSM 2013).
//
// A job needs (Σ δ / μ + |U|) · μ / (T − now) − |R| more slots: what is left of its running and pending tasks, by the mean length
// of those that have ended, over the time to its goal, less what runs. First come jobs of which no task has ended, the oldest
// before the others; then those that need slots, the nearest goal first; then those that cannot meet their goals; then all, so that
// each gets as much more than it needs. Jobs without a goal need nothing and share that part by weight. Nothing is killed. Where
// not all goals can be met, jobs with much work give theirs up so that as many as possible are. A job is given `margin` more slots
// than it needs, as a part of them, before those that cannot meet their goals, and its tasks do not wait for the nodes that their
// input is brought to: estimates err, and a job that is to end just in time ends just too late.
//
// order=need, late=first and reserve=0 is the scheduler of the thesis: late jobs before all others, the one that is expected to be
// latest for the time it was given first; then who needs most more slots. Where goals are tight it spreads what is missing over all
// jobs, so that most miss their goals by a little.
//
// Data affinity: a job that has what it needs passes up `delays` nodes for each task that would be far from its input. Hardware
// affinity: nodes are in classes by an attribute; lengths are measured on each class, one task of each job is tried on each, and a
// job more than `speedup` times as fast on a class gets its slots there first, and what these cannot do, in as many more slots as
// they are slower, elsewhere.
//
// Deviates: `reserve` tasks' time is kept before the goal, because the last tasks do not end together, and as many of those that
// run at present for each later phase, because a job that gave its slots away waits for others (0: as in the thesis); time for the
// stages after the running ones is kept for by letting them have as many slots as the job needs now, for any graph of stages (the
// thesis: for reduces, a fixed relative cost); lengths are known from the program or from history before the first task ends, and a
// profile's ratio of classes counts until five have ended on each; several jobs that belong on a class share it so that the one
// that gains most gets it first; a task that would end after both the goal and the end of the job without it is not begun on a
// slower class, and a job that has long had no slot on a faster one takes slower ones. Needs of jobs to which nothing happens are
// worked out once a second. Options: delays=0, attribute=accelerator (or none), speedup=1.2, reserve=1, margin=0.1,
// order=deadline|need, late=last|first, stages=fifo|bfs|cpm.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_adaptive(Options& options, const Registry& registry);

}  // namespace weft::schedulers

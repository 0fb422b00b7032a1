// Packing (Tetris: Grandl et al., SIGCOMM 2014): of all runnable tasks that fit a node, launches the one whose demand is best
// aligned with the node's free capacity, weighed against the remaining work of its job, until nothing fits. Nodes ask. As the only
// pass it is tetris (policies/tetris.hpp); as a later pass it uses the capacity that the passes before it left.
//
// score = align - e * srtf, align = sum of demand * free over resources (both as parts of the node's capacity), times `penalty`
// when some of the task's input (blocks or map outputs) is not on the node; srtf = sum over the job's unfinished tasks of (sum of
// demand) * duration; e = mean(align) / mean(srtf) over the candidates, so that both weigh the same. Fairness knob f in [0, 1):
// only the ceil((1 - f) * jobs) jobs furthest below their fair (dominant) share are considered. Barrier knob b: tasks of stages
// with at least b of their tasks done go first. Where nodes account for network_out or disk_read, a task with remote input fits
// only if its sources have free capacity for what it draws, which then counts as used there (remote_sources.hpp).
//
// digits=2 rounds amounts and scores to hundredths of a unit before they are compared; equal ones go in the order of jobs, and
// tasks that score 0 wait.
//
// Deviates: a job further below its fair share is one with a smaller dominant share per weight. Stages are compared, not tasks: by
// the nearest task of each. Where that task is refused for its sources, the next few tasks of the stage with other sources are
// tried.
#pragma once

#include <memory>

#include "schedulers/parts/parts.hpp"
#include "schedulers/planning/rounding.hpp"

namespace weft::schedulers {

struct PackingOptions {
  double fairness = 0, barrier = 0.9, penalty = 0.9;
  Digits digits;
  bool srtf = true;
  /// Jobs that must begin now to end when they would have ended if all had shared fairly go first, and what is not known of the
  /// work of jobs is learned from other tasks. Otherwise as published.
  bool bounded = false;
};
/// The options fairness, barrier, penalty, digits and srtf.
Result<PackingOptions> take_packing(Options& options);

/// Ignores the limits of jobs' groups.
std::unique_ptr<OrderingPolicy> packing_order(const PackingOptions& options = {});

}  // namespace weft::schedulers

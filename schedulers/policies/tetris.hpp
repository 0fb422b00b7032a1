// Tetris (Grandl et al., SIGCOMM 2014; ALGORITHMS: Tetris): of all runnable tasks that fit a node, the one whose demand is best
// aligned with what is free there, weighed against the remaining work of its job; repeated until nothing fits.
//
// score = align - e * srtf, align = sum of demand * free over resources (both as parts of the node's capacity), times `penalty`
// when the task's input is not on the node; srtf = sum over the job's unfinished tasks of (sum of demand) * duration; e =
// mean(align) / mean(srtf) over the candidates, so both weigh the same. Fairness knob f in [0, 1): only the ceil((1 - f) * jobs)
// jobs furthest below their fair (dominant) share are considered. Barrier knob b: tasks of stages with at least b of their tasks
// done go first. Scores are rounded to multiples of `round` before they are compared (0: not); what is then equal goes in the order
// of jobs. tetris(srtf=false, barrier=2, penalty=1, round=1e-6) is the plain dot product of Carbyne's simulator on 100 units, which
// rounds to two decimals.
//
// Deviates: the demand at remote sources (their disks and links) is the penalty's business, not part of the fit; jobs further below
// their fair share means a smaller dominant share per weight. All tasks of a stage are alike, so stages are compared, not tasks.
// Options: fairness=0, barrier=0.9, penalty=0.9, srtf=true, round=0.
#pragma once

#include "schedulers/registry.hpp"

namespace weft::schedulers {

Result<std::unique_ptr<Scheduler>> make_tetris(Options& options);

}  // namespace weft::schedulers

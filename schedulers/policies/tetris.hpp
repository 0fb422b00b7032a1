// Tetris (Grandl et al., SIGCOMM 2014): of all runnable tasks that fit a node, the one whose demand is best
// aligned with what is free there, weighed against the remaining work of its job; repeated until nothing fits.
//
// score = align - e * srtf, align = sum of demand * free over resources (both as parts of the node's capacity), times `penalty`
// when some of the task's input, blocks or map outputs, is not on the node; srtf = sum over the job's unfinished tasks of (sum of
// demand) * duration; e = mean(align) / mean(srtf) over the candidates, so both weigh the same. Fairness knob f in [0, 1): only the
// ceil((1 - f) * jobs) jobs furthest below their fair (dominant) share are considered. Barrier knob b: tasks of stages with at
// least b of their tasks done go first. Where nodes account for network_out or disk_read, a task with remote input fits only if its
// sources have room for what it draws, and what it draws counts as used there (remote_sources.hpp).
//
// digits=2 rounds amounts and scores to hundredths of a unit before they are compared; what is then equal goes in the order of
// jobs, and what scores nothing waits. tetris(srtf=false, barrier=2, penalty=1, digits=2) is the plain dot product of the simulator
// of Carbyne's authors.
//
// Deviates: jobs further below their fair share means a smaller dominant share per weight. All tasks of a stage are alike, so
// stages are compared, not tasks: where the nearest task of one is refused for its sources, no other of it is tried on that node.
// Options: fairness=0, barrier=0.9, penalty=0.9, srtf=true, digits.
#pragma once

#include "schedulers/registry.hpp"

namespace weft::schedulers {

Result<std::unique_ptr<Scheduler>> make_tetris(Options& options);

}  // namespace weft::schedulers

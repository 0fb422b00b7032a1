// Dominant Resource Fairness (Ghodsi et al., NSDI 2011).
//
// form=progressive (default): the next task goes to the job (or user, or pool: by=…) with the smallest dominant share per weight
// whose next task fits. Work conserving. Weights are those of the jobs, or of the files users=… and pools=… (weights.hpp).
//
// form=closed (Carbyne): shares from a formula, d_k = mean demand of job k's unfinished tasks as parts of the capacity, scaled to a
// largest entry of 1; s = 1 / max over resources of sum d_k (d_k times its weight); share of k = s * d_k. A job launches only
// while use + demand stays inside its share, of every resource. What is left goes out in a second pass (leftover=…), or not at all
// (strict=true): furthest gives it to the job furthest below its share, over all resources together, until that can use no more.
// The simulator of Carbyne's authors takes the mean over all tasks, finished or not (mean=all), and rounds what it sums up to
// hundredths of its units and of a dominant claim (digits=2): its strict runs are form=closed, mean=all, leftover=furthest,
// digits=2 to the second. Only resources the cluster accounts for count.
//
// Options: form=progressive|closed, by=job|user|pool and users=FILE or pools=FILE (progressive), strict=false,
// mean=remaining|all, leftover=drf|fifo|srtf|furthest, digits, stages=fifo|bfs|cpm.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_drf(Options& options, const Registry& registry);

}  // namespace weft::schedulers

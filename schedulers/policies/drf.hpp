// Dominant Resource Fairness (Ghodsi et al., NSDI 2011).
//
// form=progressive (default): the next task goes to the job (or user, or pool: by=…) with the smallest dominant share per weight
// whose next task fits. Work conserving. Weights are those of the jobs, or of the files users=… and pools=… (weights.hpp).
//
// form=closed (Carbyne): shares by a formula. d_k = mean demand of job k's unfinished tasks as parts of the capacity, scaled to a
// largest entry of 1; s = 1 / max over resources of sum d_k (d_k times its weight); share of k = s * d_k. A job launches only while
// use + demand stays inside its share of every resource. Later passes use the rest (leftover=…), or it stays idle (strict=true).
// With furthest, the job furthest below its share over all resources together uses all it can, then the next. The simulator of
// Carbyne's authors takes the mean over all tasks, finished or not (mean=all), and rounds sums to hundredths of its units and of a
// dominant claim (digits=2): form=closed, mean=all, leftover=furthest, digits=2 repeats its strict runs to the second. Only
// resources that the cluster accounts for count.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_drf(Options& options, const Registry& registry);

}  // namespace weft::schedulers

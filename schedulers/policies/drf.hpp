// Dominant Resource Fairness (Ghodsi et al., NSDI 2011; ALGORITHMS: DRF).
//
// form=progressive (default): the next task goes to the job (or user, or pool: by=…) with the smallest dominant share per weight
// whose next task fits. Work conserving.
//
// form=closed (Carbyne's simulator): shares from a formula, d_k = mean demand of job k's unfinished tasks as parts of the capacity,
// scaled to a largest entry of 1; s = 1 / max over resources of sum d_k (d_k times its weight); share of k = s * d_k. A job
// launches only while use + demand stays inside its share. What is left goes out in a second pass (leftover=drf|fifo|srtf), or not
// at all (strict=true). Deviates: the mean is over unfinished tasks of what they demand, told by the plan; only resources the
// cluster accounts for count.
//
// Options: form=progressive|closed, by=job|user|pool (progressive), strict=false, leftover=drf|fifo|srtf, stages=fifo|bfs|cpm.
#pragma once

#include <map>

#include "schedulers/registry.hpp"

namespace weft::sched {

Result<Composition> make_drf(Options& options, const Registry& registry);

struct DrfClaim {
  Resources demand;  // of a task, on average
  double weight = 1;
};
/// The closed form: what each claim gets of `capacity`, in their order.
std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity);

}  // namespace weft::sched

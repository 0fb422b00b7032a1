// Dominant Resource Fairness (Ghodsi et al., NSDI 2011; ALGORITHMS: DRF).
//
// form=progressive (default): the next task goes to the job (or user, or pool: by=…) with the smallest dominant share per weight
// whose next task fits. Work conserving.
//
// form=closed (Carbyne's simulator): shares from a formula, d_k = mean demand of job k's tasks as parts of the capacity, scaled to
// a largest entry of 1; s = 1 / max over resources of sum d_k (d_k times its weight); share of k = s * d_k. A job launches only
// while use + demand stays inside its share, of every resource. What is left goes out in a second pass (leftover=…), or not at all
// (strict=true): furthest gives it to the job furthest below its share, over all resources together, until that can use no more.
// digits=2 rounds what is summed up to hundredths (of a dominant claim; of a percent of the capacity) as that simulator does: its
// strict runs are form=closed, leftover=furthest, digits=2 to the second. Deviates: as there, and unlike what the paper says, the
// mean is over all tasks of the job, finished or not; only resources the cluster accounts for count.
//
// Options: form=progressive|closed, by=job|user|pool (progressive), strict=false, leftover=drf|fifo|srtf|furthest, digits,
// stages=fifo|bfs|cpm.
#pragma once

#include <optional>
#include <vector>

#include "schedulers/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_drf(Options& options, const Registry& registry);

struct DrfClaim {
  Resources demand;  // of a task, on average
  double weight = 1;
};
/// A power of ten: sums are rounded to its inverse.
using Digits = std::optional<double>;
/// The closed form: what each claim gets of `capacity`, in their order.
std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity, Digits digits = {});

}  // namespace weft::schedulers

// The fair scheduler of Hadoop MR1: pools of any depth with weights and minimum shares; jobs within a pool share fairly or run
// first come, first served. The pool furthest below its minimum share is next, else the one with the least use per weight; of its
// jobs the one with the least use per weight. Shares are counted in cores, or per slot type where nodes have typed slots.
//
// preemption=true kills the newest tasks of jobs and pools above their fair share, for pools that are below their minimum share for
// longer than min_share_timeout or below half their fair share for longer than fair_share_timeout (pools.toml, see pools.hpp).
//
// Deviates: shares are exact (no binary search); a job that names no pool goes to its user's; the hierarchy is that of later
// versions; starvation is noticed at updates, so a timeout is kept to within `update`.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_fair(Options& options, const Registry& registry);

}  // namespace weft::schedulers

// The fair scheduler of Hadoop MR1: pools with weights and minimum shares, any depth; jobs within a
// pool share fairly or first come first served. Next is the pool furthest below its minimum share, else the one with the least per
// weight; of its jobs the one with the least per weight. Shares are counted in cores, or per slot type where nodes have typed
// slots.
//
// preemption=true kills the newest tasks of jobs and pools above their fair share, for pools that are below their minimum share for
// longer than min_share_timeout or below half their fair share for longer than fair_share_timeout (pools.toml, see pools.hpp).
//
// Deviates: shares are exact (no binary search); a job that names no pool goes to its user's; the hierarchy is that of later
// versions; starvation is noticed at updates, so a timeout is kept to within `update`. Options: pools=FILE, preemption=false,
// interval=15s (between preemptions), update=500ms, min_share_timeout, fair_share_timeout (of pools whose file says nothing),
// stages=fifo|bfs|cpm.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_fair(Options& options, const Registry& registry);

}  // namespace weft::schedulers

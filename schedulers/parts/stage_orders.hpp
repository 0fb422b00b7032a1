// Which of a job's stages first: critical path and breadth first, as the baselines of Carbyne (OSDI 2016).
//
// fifo: in order of definition. bfs: by depth from the roots, of a depth that first which was ready first (Tez). cpm: the longest
// path to the end of the job first, cp(s) = dur(s) + max over children of cp(child); task waves are ignored, as there. packing: the
// demand best aligned with what is free first, on the node that asks or, where there are several, in the cluster (alignment.hpp).
// dagps: what is troublesome first, the rest around it (planning/troublesome.hpp).
// `cpm(inner=X)`, `bfs(inner=X)` and `dagps(inner=X)` are scheduler X with that order of stages.
#pragma once

#include <map>
#include <string_view>

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

/// Seconds a task of the stage takes (task_duration() of estimates.hpp).
double task_seconds(const StageInfo& stage);
/// cp(s) of each stage. `remaining`: finished stages take no time.
std::map<StageId, double> critical_paths(const JobInfo& job, bool remaining);

std::unique_ptr<StageOrder> breadth_first();
/// The option stages=fifo|bfs|cpm|packing|dagps.
Result<std::unique_ptr<StageOrder>> take_stage_order(Options& options, std::string_view otherwise);

Result<Composition> make_cpm(Options& options, const Registry& registry);
Result<Composition> make_bfs(Options& options, const Registry& registry);
Result<Composition> make_dagps(Options& options, const Registry& registry);

}  // namespace weft::schedulers

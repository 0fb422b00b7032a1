// Orders of a job's stages: critical path and breadth first are the baselines of Carbyne (OSDI 2016).
//
// fifo: in order of definition. bfs: by depth from the roots, and of one depth the stage that was ready first (Tez). cpm: the
// longest path to the end of the job first, cp(s) = dur(s) + max over children of cp(child), without regard to task waves, as in
// the paper. packing: the demand first that is best aligned with the free capacity of the only node or, where several are offered,
// of the cluster (alignment.hpp). dagps: troublesome stages first, the rest around them (planning/troublesome.hpp). `cpm(inner=X)`,
// `bfs(inner=X)` and `dagps(inner=X)` are scheduler X with that order of stages.
#pragma once

#include <map>
#include <string_view>

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

/// Seconds a task of the stage takes (task_duration() of estimates.hpp).
double task_seconds(const StageInfo& stage);
/// cp(s) of each stage. `remaining`: finished stages count as 0.
std::map<StageId, double> critical_paths(const JobInfo& job, bool remaining);

std::unique_ptr<StageOrder> breadth_first();
/// The option stages=fifo|bfs|cpm|packing|dagps.
Result<std::unique_ptr<StageOrder>> take_stage_order(Options& options, std::string_view otherwise);

Result<Composition> make_cpm(Options& options, const Registry& registry);
Result<Composition> make_bfs(Options& options, const Registry& registry);
Result<Composition> make_dagps(Options& options, const Registry& registry);

}  // namespace weft::schedulers

// Places the tasks of a stage before its inputs are complete, by their predicted sizes.
#pragma once

#include <map>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// How many tasks of this demand a node of that capacity runs at a time, at most 1e9.
double slots_of(const Resources& capacity, const Resources& demand);

/// Mean bytes that a task of the stage reads from shuffles, as predicted by the maps that have ended.
double mean_shuffle_input(const JobInfo& job, const StageInfo& reader);

/// Preplaces every task of `what.reader` that is not launched: the heuristic MinHeap over usable nodes (reduce_mapping.hpp), with
/// predicted sizes (size_prediction.hpp), beside the input of running tasks and of other placed reduces. Without fresh inputs, only
/// tasks without a place are placed. Places nothing where there are fewer than two nodes. `racks`: the part of all bytes that each
/// rack gets; racks that are not named get nothing; empty: racks get bytes by their slots.
void preplace_by_size(const ClusterView& view, const Preplaceable& what, Decisions& decisions,
                      const std::map<RackId, double>& racks = {});

}  // namespace weft::schedulers

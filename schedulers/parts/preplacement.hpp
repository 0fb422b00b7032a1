// Placing the tasks of a stage before its inputs are complete, by the sizes they will have.
#pragma once

#include <map>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// How many tasks of this demand a node of that capacity runs at a time, at most 1e9.
double slots_of(const Resources& capacity, const Resources& demand);

/// Bytes that a task of a stage reads of shuffles, in the mean and as predicted by the maps that have ended.
double mean_shuffle_input(const JobInfo& job, const StageInfo& reader);

/// Preplaces every task of `what.reader` that is not launched: the heuristic MinHeap over usable nodes (reduce_mapping.hpp), with
/// predicted sizes (size_prediction.hpp), beside what running tasks and other reduces that were placed read there. Tasks that stay
/// where they were placed are left alone; without fresh inputs those are all that have a place. Places nothing on fewer than two
/// nodes. `racks`: the part of all bytes that each rack is to get, those that are not named get nothing; empty: they get as many as
/// they have room for.
void preplace_by_size(const ClusterView& view, const Preplaceable& what, Decisions& decisions,
                      const std::map<RackId, double>& racks = {});

}  // namespace weft::schedulers

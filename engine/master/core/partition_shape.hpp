// How partitions become tasks: one for each as the plan has it, several for a hot one (a skew split), or one for adjacent small
// ones (a merge). Decided once, when all inputs of a stage are complete, before any task runs. Pure functions of plan and sizes.
//
// The tasks of a split keep their partition; the first is the task of the plan, the others are numbered after all tasks of the
// plan.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/master/plan/plan.hpp"
#include "schedulers/view/view.hpp"

namespace weft::master {

/// What a task of a hot partition reads: the outputs of some maps of one input, and all of the others.
struct SkewSplit {
  std::uint32_t task = 0;   // the one whose partition it is
  std::uint32_t input = 0;  // position in the branch's partitioned inputs
  shuffle::MapRange maps;
};
using SkewSplits = std::map<std::uint32_t, SkewSplit>;  // by task

/// The stage that writes a shuffle.
using InputInfos = std::function<const schedulers::StageInfo&(ShuffleId)>;

struct ShapeRules {
  std::uint64_t split_bytes = 0;  // a part of a split reads no less; 0: nothing is split
  std::uint64_t merge_bytes = 0;  // adjacent partitions are merged until a task reads so much; 0: never
  double slots = 1;               // tasks that can run at a time; merging leaves as many tasks
};

/// The tasks of the stage that read a part of a hot partition. Empty when no partition is much larger than the median, or where the
/// plan does not allow it (Branch::splittable).
SkewSplits skew_splits(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules);
/// The number of tasks with these splits.
std::uint32_t task_count(const plan::Stage& stage, const SkewSplits& splits);

/// Whether merging would make fewer tasks, by what is known of the inputs so far.
bool may_merge(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules);
/// Task i reads the partitions [bounds[i], bounds[i + 1]). The stage must be one that may be merged.
std::vector<std::uint32_t> merge_bounds(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules);

/// What a task reads, with its share of splits or of merged partitions (`bounds`; empty: not merged), and how many bytes.
plan::TaskSpec shaped_task_spec(const plan::Stage& stage, const std::vector<std::uint32_t>& bounds, const SkewSplits& splits,
                                const InputInfos& inputs, std::uint32_t task);

}  // namespace weft::master

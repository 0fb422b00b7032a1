#include "engine/master/core/partition_shape.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::master {

namespace {

using schedulers::ShuffleSizes;

/// Larger than this many times the median counts as hot.
constexpr std::uint64_t kHot = 2;

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::uint64_t> partition_sizes(const ShuffleSizes& sizes, std::uint32_t partitions) {
  std::vector<std::uint64_t> bytes(partitions);
  for (std::uint32_t i = 0; i < partitions; ++i) bytes[i] = sizes.partition_bytes(i);
  return bytes;
}

/// Runs of maps with about `part_bytes` of the partition each, all maps together.
std::vector<shuffle::MapRange> map_ranges(const ShuffleSizes& sizes, std::uint32_t partition, std::uint64_t part_bytes) {
  std::vector<shuffle::MapRange> parts(1);
  std::uint64_t filled = 0;
  for (std::uint32_t map = 0; map < sizes.maps(); ++map) {
    const std::uint64_t bytes = sizes.size(map, partition);
    if (filled > 0 && filled + bytes / 2 > part_bytes) {
      parts.back().end = map;
      parts.push_back({map, UINT32_MAX});
      filled = 0;
    }
    filled += bytes;
  }
  return parts;
}

std::vector<SkewSplit> splits_of(const plan::Branch& branch, std::uint32_t first_task, const InputInfos& inputs,
                                 const ShapeRules& rules) {
  std::vector<const ShuffleSizes*> outputs;
  for (ShuffleId id : branch.partitioned) outputs.push_back(&inputs(id).output);
  std::vector<std::vector<SkewSplit>> best(branch.tasks);
  const auto slots = static_cast<std::uint64_t>(std::max(1.0, rules.slots));
  for (std::uint32_t input : branch.splittable) {
    const auto& broadcast = branch.broadcast;
    if (std::find(broadcast.begin(), broadcast.end(), branch.partitioned[input]) != broadcast.end()) continue;
    const ShuffleSizes& sizes = *outputs[input];
    const std::uint64_t usual = median(partition_sizes(sizes, branch.tasks));
    const std::uint64_t least = std::max({rules.split_bytes, usual, sizes.total_bytes() / (4 * slots)});
    for (std::uint32_t partition = 0; partition < branch.tasks; ++partition) {
      const std::uint64_t bytes = sizes.partition_bytes(partition);
      if (bytes <= kHot * usual || bytes <= rules.split_bytes) continue;
      // Every part reads the other inputs whole: that must not become the larger part of its work.
      std::uint64_t others = 0;
      for (const auto* other : outputs) others += other->partition_bytes(partition);
      const auto parts = map_ranges(sizes, partition, std::max(least, others - bytes));
      if (parts.size() <= std::max<std::size_t>(1, best[partition].size())) continue;
      best[partition].clear();
      for (const shuffle::MapRange& maps : parts) best[partition].push_back({first_task + partition, input, maps});
    }
  }
  std::vector<SkewSplit> splits;
  for (const auto& of_partition : best) splits.insert(splits.end(), of_partition.begin(), of_partition.end());
  return splits;
}

/// What the maps will have written for all partitions, going by those that have ended.
std::uint64_t predicted_bytes(const schedulers::StageInfo& input) {
  const std::uint32_t ended = input.output.finished_maps();
  if (ended == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(input.output.total_bytes()) * input.output.maps() / ended);
}

/// As many tasks as have merge_bytes to read, and one for each slot.
std::uint32_t merged_tasks(std::uint64_t bytes, std::uint32_t partitions, const ShapeRules& rules) {
  const double wanted = std::max({1.0, rules.slots, static_cast<double>(bytes) / static_cast<double>(rules.merge_bytes)});
  return wanted >= partitions ? partitions : static_cast<std::uint32_t>(std::ceil(wanted));
}

/// Bounds of at most `tasks` runs of partitions with about as many bytes each; none is without a partition.
std::vector<std::uint32_t> even_bounds(const std::vector<std::uint64_t>& bytes, std::uint32_t tasks) {
  const std::uint64_t total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  std::vector<std::uint32_t> bounds{0};
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i + 1 < bytes.size() && bounds.size() < tasks; ++i) {
    before += bytes[i];
    if (static_cast<double>(before) * tasks >= static_cast<double>(total) * static_cast<double>(bounds.size()))
      bounds.push_back(i + 1);
  }
  bounds.push_back(static_cast<std::uint32_t>(bytes.size()));
  return bounds;
}

}  // namespace

SkewSplits skew_splits(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules) {
  if (rules.split_bytes == 0) return {};
  std::vector<SkewSplit> found;
  std::uint32_t tasks = 0;
  for (const plan::Branch& branch : stage.branches) {
    if (branch.kind != plan::BranchKind::shuffles) return {};  // tasks near their input: the index of hosts does not grow
    if (!branch.splittable.empty()) {
      const auto splits = splits_of(branch, tasks, inputs, rules);
      found.insert(found.end(), splits.begin(), splits.end());
    }
    tasks += branch.tasks;
  }
  SkewSplits by_task;
  for (const SkewSplit& split : found) by_task.emplace(split.maps.first == 0 ? split.task : tasks++, split);
  return by_task;
}

std::uint32_t task_count(const plan::Stage& stage, const SkewSplits& splits) {
  const std::uint32_t planned = stage.task_count();
  return splits.empty() ? planned : std::max(planned, splits.rbegin()->first + 1);
}

/// One branch only: tasks of several do not read the same partitions.
bool may_merge(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules) {
  if (rules.merge_bytes == 0 || stage.branches.size() != 1 || !stage.branches[0].mergeable) return false;
  std::uint64_t bytes = 0;
  for (ShuffleId id : stage.branches[0].partitioned) bytes += predicted_bytes(inputs(id));
  const std::uint32_t partitions = stage.branches[0].tasks;
  return merged_tasks(bytes, partitions, rules) < partitions;
}

std::vector<std::uint32_t> merge_bounds(const plan::Stage& stage, const InputInfos& inputs, const ShapeRules& rules) {
  const plan::Branch& branch = stage.branches[0];
  std::vector<std::uint64_t> bytes(branch.tasks);
  for (ShuffleId id : branch.partitioned) {
    const ShuffleSizes& sizes = inputs(id).output;
    for (std::uint32_t i = 0; i < branch.tasks; ++i) bytes[i] += sizes.partition_bytes(i);
  }
  const std::uint64_t total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  return even_bounds(bytes, merged_tasks(total, branch.tasks, rules));
}

plan::TaskSpec shaped_task_spec(const plan::Stage& stage, const std::vector<std::uint32_t>& bounds, const SkewSplits& splits,
                                const InputInfos& inputs, std::uint32_t task) {
  const auto found = splits.find(task);
  const SkewSplit* split = found == splits.end() ? nullptr : &found->second;
  const std::uint32_t planned = split != nullptr ? split->task : bounds.empty() ? task : bounds[task];
  plan::TaskSpec spec = plan::task_spec(stage, planned);
  for (std::uint32_t i = 0; i < spec.inputs.size(); ++i) {
    shuffle::InputSlice& slice = spec.inputs[i];
    const ShuffleSizes& sizes = inputs(slice.shuffle).output;
    if (!bounds.empty()) slice.partitions = bounds[task + 1] - bounds[task];
    for (std::uint32_t of = 0; of < slice.partitions; ++of) slice.bytes += sizes.partition_bytes(spec.partition + of);
    if (split == nullptr || split->input != i) continue;
    slice.maps = split->maps;
    slice.bytes = 0;
    for (std::uint32_t map = split->maps.first; map < std::min(split->maps.end, sizes.maps()); ++map)
      slice.bytes += sizes.size(map, spec.partition);
  }
  for (ShuffleId id : stage.branches[spec.branch].broadcast) {
    const ShuffleSizes& sizes = inputs(id).output;
    spec.inputs.push_back({id, {0, sizes.maps()}, sizes.total_bytes()});
  }
  return spec;
}

}  // namespace weft::master

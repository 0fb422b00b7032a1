// Hot partitions: when all inputs of a stage are complete, a partition that is much larger than the others is cut by maps into
// several tasks, where the plan says that this gives the same records (one side of a join). Decided once, before any task runs.
//
// The cut tasks keep their partition; the first piece is the task of the plan, the others are numbered after all tasks of the plan.
#include <algorithm>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// Larger than this many times the median counts as hot.
constexpr std::uint64_t kHot = 2;

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::uint64_t> partition_sizes(const schedulers::ShuffleSizes& sizes, std::uint32_t partitions) {
  std::vector<std::uint64_t> bytes(partitions);
  for (std::uint32_t i = 0; i < partitions; ++i) bytes[i] = sizes.partition_bytes(i);
  return bytes;
}

/// Runs of maps with about `piece_bytes` of the partition each, all maps together.
std::vector<shuffle::MapRange> ranges(const schedulers::ShuffleSizes& sizes, std::uint32_t partition, std::uint64_t piece_bytes) {
  std::vector<shuffle::MapRange> pieces(1);
  std::uint64_t filled = 0;
  for (std::uint32_t map = 0; map < sizes.maps(); ++map) {
    const std::uint64_t bytes = sizes.size(map, partition);
    if (filled > 0 && filled + bytes / 2 > piece_bytes) {
      pieces.back().end = map;
      pieces.push_back({map, UINT32_MAX});
      filled = 0;
    }
    filled += bytes;
  }
  return pieces;
}

bool reads_elsewhere(const plan::Branch& branch, ShuffleId shuffle) {
  return std::find(branch.broadcast.begin(), branch.broadcast.end(), shuffle) != branch.broadcast.end();
}

}  // namespace

std::vector<Cut> Core::Impl::cuts_of(const JobRecord& job, const plan::Branch& branch, std::uint32_t first_task) const {
  std::vector<const schedulers::ShuffleSizes*> inputs;
  for (ShuffleId id : branch.partitioned) inputs.push_back(&job.stages.at(StageId(id.value())).info->output);
  std::vector<std::vector<Cut>> best(branch.tasks);
  const auto slots = static_cast<std::uint64_t>(std::max(1.0, state_.capacity().cpu));
  for (std::uint32_t input : branch.splittable) {
    if (reads_elsewhere(branch, branch.partitioned[input])) continue;
    const schedulers::ShuffleSizes& sizes = *inputs[input];
    const std::uint64_t usual = median(partition_sizes(sizes, branch.tasks));
    const std::uint64_t least = std::max({options_.split_bytes, usual, sizes.total_bytes() / (4 * slots)});
    for (std::uint32_t partition = 0; partition < branch.tasks; ++partition) {
      const std::uint64_t bytes = sizes.partition_bytes(partition);
      if (bytes <= kHot * usual || bytes <= options_.split_bytes) continue;
      // Every piece reads the other inputs whole: that must not become the larger part of its work.
      std::uint64_t others = 0;
      for (const auto* other : inputs) others += other->partition_bytes(partition);
      const auto pieces = ranges(sizes, partition, std::max(least, others - bytes));
      if (pieces.size() <= std::max<std::size_t>(1, best[partition].size())) continue;
      best[partition].clear();
      for (const shuffle::MapRange& maps : pieces) best[partition].push_back({first_task + partition, input, maps});
    }
  }
  std::vector<Cut> cuts;
  for (const auto& of_partition : best) cuts.insert(cuts.end(), of_partition.begin(), of_partition.end());
  return cuts;
}

void Core::Impl::cut(const JobRecord& job, StageRecord& stage) {
  if (options_.split_bytes == 0) return;
  std::vector<Cut> cuts;
  std::uint32_t first_task = 0;
  for (const plan::Branch& branch : stage.plan.branches) {
    if (branch.kind != plan::BranchKind::shuffles) return;  // tasks near their input: the index of hosts does not grow
    if (!branch.splittable.empty()) {
      const std::vector<Cut> found = cuts_of(job, branch, first_task);
      cuts.insert(cuts.end(), found.begin(), found.end());
    }
    first_task += branch.tasks;
  }
  std::uint32_t tasks = first_task;
  for (const Cut& cut : cuts) stage.cuts.emplace(cut.maps.first == 0 ? cut.task : tasks++, cut);
  if (tasks > first_task) set_task_count(stage, tasks);
}

}  // namespace weft::master

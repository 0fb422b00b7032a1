// How partitions become tasks: one for each as the plan has it, several for a hot one (core_skew.cpp), or one for adjacent small
// ones. Decided once, when all inputs of a stage are complete, before any task runs.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// What the maps will have written for all partitions, going by those that have ended.
std::uint64_t foreseen_bytes(const schedulers::StageInfo& input) {
  const std::uint32_t ended = input.output.finished_maps();
  if (ended == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(input.output.total_bytes()) * input.output.maps() / ended);
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

void Core::Impl::shape(const JobRecord& job, StageRecord& stage) {
  stage.shaped = true;
  if (!stage.info->inputs_complete) return;
  cut(job, stage);
  if (stage.cuts.empty() && stage.placed_by.empty() && may_merge(job, stage)) merge(job, stage);
}

/// By what is known of its inputs. One branch only: tasks of several do not read the same partitions.
bool Core::Impl::may_merge(const JobRecord& job, const StageRecord& stage) const {
  if (options_.merge_bytes == 0 || stage.plan.branches.size() != 1 || !stage.plan.branches[0].mergeable) return false;
  std::uint64_t bytes = 0;
  for (ShuffleId id : stage.plan.branches[0].partitioned) bytes += foreseen_bytes(*job.stages.at(StageId(id.value())).info);
  const std::uint32_t partitions = stage.plan.branches[0].tasks;
  return merged_tasks(bytes, partitions) < partitions;
}

/// As many as have merge_bytes to read, and one for each slot.
std::uint32_t Core::Impl::merged_tasks(std::uint64_t bytes, std::uint32_t partitions) const {
  const double slots = std::max(1.0, state_.capacity().cpu);
  const double wanted = std::max(slots, static_cast<double>(bytes) / static_cast<double>(options_.merge_bytes));
  return wanted >= partitions ? partitions : static_cast<std::uint32_t>(std::ceil(wanted));
}

void Core::Impl::merge(const JobRecord& job, StageRecord& stage) {
  const plan::Branch& branch = stage.plan.branches[0];
  std::vector<std::uint64_t> bytes(branch.tasks);
  for (ShuffleId id : branch.partitioned) {
    const schedulers::ShuffleSizes& sizes = job.stages.at(StageId(id.value())).info->output;
    for (std::uint32_t i = 0; i < branch.tasks; ++i) bytes[i] += sizes.partition_bytes(i);
  }
  const std::uint64_t total = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  stage.info->bounds = even_bounds(bytes, merged_tasks(total, branch.tasks));
  set_task_count(stage, static_cast<std::uint32_t>(stage.info->bounds.size() - 1));
}

void Core::Impl::set_task_count(StageRecord& stage, std::uint32_t tasks) {
  state_.set_task_count(*stage.info, tasks);
  stage.counted.resize(tasks);
  if (stage.plan.output == plan::OutputKind::result) {
    stage.results.resize(tasks);
  } else {
    stage.info->output = schedulers::ShuffleSizes(tasks, stage.plan.partitions);
  }
}

plan::TaskSpec Core::Impl::spec_of(const JobRecord& job, const StageRecord& stage, std::uint32_t task) const {
  const auto found = stage.cuts.find(task);
  const Cut* cut = found == stage.cuts.end() ? nullptr : &found->second;
  const std::vector<std::uint32_t>& bounds = stage.info->bounds;
  const std::uint32_t planned = cut != nullptr ? cut->task : bounds.empty() ? task : bounds[task];
  plan::TaskSpec spec = plan::task_spec(stage.plan, planned);
  for (std::uint32_t i = 0; i < spec.inputs.size(); ++i) {
    shuffle::InputSlice& slice = spec.inputs[i];
    const schedulers::ShuffleSizes& sizes = job.stages.at(StageId(slice.shuffle.value())).info->output;
    if (!bounds.empty()) slice.partitions = bounds[task + 1] - bounds[task];
    for (std::uint32_t of = 0; of < slice.partitions; ++of) slice.bytes += sizes.partition_bytes(spec.partition + of);
    if (cut == nullptr || cut->input != i) continue;
    slice.maps = cut->maps;
    slice.bytes = 0;
    for (std::uint32_t map = cut->maps.first; map < std::min(cut->maps.end, sizes.maps()); ++map)
      slice.bytes += sizes.size(map, spec.partition);
  }
  return spec;
}

}  // namespace weft::master

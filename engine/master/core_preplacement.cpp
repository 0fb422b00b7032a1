// Readers of shuffles are given nodes while maps still run: when enough maps of an input have ended, the scheduler is asked where
// all of its readers go, and once more for each further input.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// The first task of the branch that reads the shuffle at its own partition; nothing when none does, or when some tasks of the
/// stage read files, near which they belong.
std::optional<std::uint32_t> first_reader(const plan::Stage& reader, StageId input) {
  std::optional<std::uint32_t> first;
  std::uint32_t task = 0;
  for (const plan::Branch& branch : reader.branches) {
    if (branch.kind != plan::BranchKind::shuffles) return std::nullopt;
    const auto& read = branch.partitioned;
    if (!first && std::find(read.begin(), read.end(), ShuffleId(input.value())) != read.end()) first = task;
    task += branch.tasks;
  }
  return first;
}

/// Outputs are told in so many portions, and those of few maps one by one.
constexpr std::size_t kPortions = 32;

/// What two maps wrote for the same reduces: 1 when in the same proportions, 0 when for others altogether.
double likeness(const schedulers::ShuffleSizes& sizes, std::uint32_t a, std::uint32_t b) {
  std::uint64_t of_a = 0, of_b = 0;
  for (std::uint32_t i = 0; i < sizes.partitions(); ++i) of_a += sizes.size(a, i), of_b += sizes.size(b, i);
  if (of_a == 0 || of_b == 0) return 1;
  double common = 0;
  for (std::uint32_t i = 0; i < sizes.partitions(); ++i) {
    common += std::min(static_cast<double>(sizes.size(a, i)) / static_cast<double>(of_a),
                       static_cast<double>(sizes.size(b, i)) / static_cast<double>(of_b));
  }
  return common;
}

/// Whether the first maps that ended tell what the others will write, and so where it will lie. Not so after a partition by the
/// same ranges: what each map writes is nearly all for a reduce of its own.
bool maps_are_alike(const schedulers::StageInfo& input) {
  constexpr std::size_t kCompared = 4;
  std::vector<std::uint32_t> ended;
  for (std::uint32_t map = 0; map < input.tasks.size() && ended.size() < kCompared; ++map)
    if (input.tasks[map].state == schedulers::TaskState::finished) ended.push_back(map);
  return std::all_of(ended.begin(), ended.end(),
                     [&](std::uint32_t map) { return likeness(input.output, ended.front(), map) >= 0.5; });
}

bool untouched(const schedulers::StageInfo& stage) { return stage.running == 0 && stage.finished == 0; }

}  // namespace

/// What a map writes for a partition, in the mean.
std::uint64_t Core::Impl::block_bytes(const schedulers::ShuffleSizes& sizes) {
  return sizes.total_bytes() / (std::uint64_t{std::max(1u, sizes.finished_maps())} * std::max(1u, sizes.partitions()));
}

/// After a map of `input` has ended.
void Core::Impl::preplace_readers(JobRecord& job, StageRecord& input, const TaskRef& task) {
  if (!input.told.empty()) {
    input.untold.insert(task.index);
    if (input.untold.size() * kPortions >= input.info->tasks.size() || input.info->complete()) tell_outputs(job, input);
  }
  if (options_.preplace_at >= 1 || job.spec.shuffle_mode == shuffle::Mode::pull || state_.nodes().size() < 2) return;
  const double enough = std::ceil(std::max(0.0, options_.preplace_at) * static_cast<double>(input.info->tasks.size()));
  if (input.info->output.finished_maps() < std::max(1.0, enough)) return;
  for (StageId id : input.info->children) {
    StageRecord& reader = job.stages.at(id);
    const bool known = std::find(reader.placed_by.begin(), reader.placed_by.end(), input.plan.id) != reader.placed_by.end();
    if (known || !reader.active || !untouched(*reader.info) || !first_reader(reader.plan, input.plan.id)) continue;
    if (!reader.info->bounds.empty() || may_merge(job, reader)) continue;  // so little that it is soon fetched
    if (!input.info->complete()) {
      input.unlike = input.unlike || !maps_are_alike(*input.info);
      if (input.unlike) return;  // what is placed now would be brought to the wrong nodes
    }
    preplace(job, reader, input.plan.id);
  }
}

/// `fresh`: the input that has become known; without one, tasks lost their places.
void Core::Impl::preplace(JobRecord& job, StageRecord& reader, std::optional<StageId> fresh) {
  schedulers::Preplaceable what{job.spec.job, reader.plan.id, {}, {}};
  for (StageId known : reader.placed_by) what.known.push_back({known, *first_reader(reader.plan, known)});
  if (fresh) {
    what.fresh.push_back({*fresh, *first_reader(reader.plan, *fresh)});
    reader.placed_by.push_back(*fresh);
  }
  call_preplace(what);
  for (StageId id : reader.placed_by) tell_places(job, job.stages.at(id));
}

/// Those that are still there, where they are now.
void Core::Impl::tell_outputs(const JobRecord& job, StageRecord& input) {
  std::vector<shuffle::MapOutput> outputs;
  for (const std::uint32_t map : std::exchange(input.untold, {})) {
    const schedulers::TaskInfo& task = input.info->tasks[map];
    if (task.state == schedulers::TaskState::finished) outputs.push_back({map, task.attempt(), task.node});
  }
  if (outputs.empty()) return;
  for (NodeId node : input.told) {
    emit(PrefetchShuffle{node, job.spec.job, ShuffleId(input.plan.id.value()), std::nullopt, outputs,
                         block_bytes(input.info->output), input.info->complete()});
  }
}

/// A task of the reader has ended.
void Core::Impl::read_units(const JobRecord& job, const StageRecord& reader, std::uint32_t task) {
  for (StageId input : reader.placed_by) {
    if (const std::uint32_t first = *first_reader(reader.plan, input); task >= first)
      units_.read({job.spec.job, input}, task - first, reader.plan.id);
  }
}

/// Which partitions of the input are to be read where now, and to nodes that are new to it what there is so far.
void Core::Impl::tell_places(JobRecord& job, StageRecord& input) {
  if (!input.untold.empty()) tell_outputs(job, input);
  PartitionsByNode partitions;
  for (NodeId node : input.told) partitions[node];
  for (StageId id : input.info->children) {
    const StageRecord& reader = job.stages.at(id);
    if (std::find(reader.placed_by.begin(), reader.placed_by.end(), input.plan.id) == reader.placed_by.end()) continue;
    const std::uint32_t first = *first_reader(reader.plan, input.plan.id);
    for (const auto& [node, tasks] : reader.info->preplaced) {
      for (auto task = tasks.lower_bound(first); task != tasks.end() && *task - first < input.plan.partitions; ++task)
        partitions[node].emplace_back(*task - first, id);
    }
  }
  place_units(job, input, partitions);
  std::vector<shuffle::MapOutput> outputs;
  for (std::uint32_t map = 0; map < input.info->tasks.size(); ++map) {
    const schedulers::TaskInfo& task = input.info->tasks[map];
    if (task.state == schedulers::TaskState::finished) outputs.push_back({map, task.attempt(), task.node});
  }
  for (const auto& [node, there] : partitions) {
    std::vector<std::uint32_t> wanted;
    for (const auto& [partition, reader] : there) wanted.push_back(partition);
    const bool fresh = input.told.insert(node).second;
    job.nodes.insert(node);
    emit(PrefetchShuffle{node, job.spec.job, ShuffleId(input.plan.id.value()), std::move(wanted),
                         fresh ? outputs : std::vector<shuffle::MapOutput>(), block_bytes(input.info->output),
                         input.info->complete()});
  }
}

}  // namespace weft::master

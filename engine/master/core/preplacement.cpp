#include "engine/master/core/preplacement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::master {

namespace {

/// Nodes are notified of a shuffle's outputs in this many portions, and of those of few maps one by one.
constexpr std::size_t kPortions = 32;

/// What two maps wrote for the same reduces: 1 when in the same proportions, 0 when for others altogether.
double likeness(const schedulers::ShuffleSizes& sizes, std::uint32_t a, std::uint32_t b) {
  std::uint64_t of_a = 0, of_b = 0;
  for (std::uint32_t i = 0; i < sizes.partitions(); ++i) {
    of_a += sizes.size(a, i);
    of_b += sizes.size(b, i);
  }
  if (of_a == 0 || of_b == 0) return 1;
  double common = 0;
  for (std::uint32_t i = 0; i < sizes.partitions(); ++i) {
    common += std::min(static_cast<double>(sizes.size(a, i)) / static_cast<double>(of_a),
                       static_cast<double>(sizes.size(b, i)) / static_cast<double>(of_b));
  }
  return common;
}

bool placed_by(const StageRecord& reader, StageId input) {
  return std::find(reader.placed_by.begin(), reader.placed_by.end(), input) != reader.placed_by.end();
}

}  // namespace

bool maps_are_alike(const schedulers::StageInfo& input) {
  constexpr std::size_t kCompared = 4;
  std::vector<std::uint32_t> ended;
  for (std::uint32_t map = 0; map < input.tasks.size() && ended.size() < kCompared; ++map)
    if (input.tasks[map].state == schedulers::TaskState::finished) ended.push_back(map);
  return std::all_of(ended.begin(), ended.end(),
                     [&](std::uint32_t map) { return likeness(input.output, ended.front(), map) >= 0.5; });
}

void Preplacement::map_finished(JobRecord& job, StageRecord& input, std::uint32_t map, schedulers::Decisions& decisions) {
  StagePrefetch& prefetch = input.prefetch;
  if (!prefetch.notified.empty()) {
    prefetch.unsent.insert(map);
    if (prefetch.unsent.size() * kPortions >= input.info->tasks.size() || input.info->complete()) send_outputs(job, input);
  }
  const CoreOptions& options = context_.options;
  if (options.preplace_at >= 1 || job.spec.options.shuffle_mode == shuffle::Mode::pull || context_.view.nodes().size() < 2) return;
  const double enough = std::ceil(std::max(0.0, options.preplace_at) * static_cast<double>(input.info->tasks.size()));
  if (input.info->output.finished_maps() < std::max(1.0, enough)) return;
  const ShapeRules rules{options.split_bytes, options.merge_bytes, context_.view.capacity().cpu};
  for (StageId id : input.info->children) {
    StageRecord& reader = job.stages.at(id);
    const bool untouched = reader.info->running == 0 && reader.info->finished == 0;
    if (placed_by(reader, input.plan.id) || !reader.active || !untouched || !first_reader(reader.plan, input.plan.id)) continue;
    if (!reader.info->bounds.empty() || may_merge(reader.plan, job.inputs(), rules)) continue;  // so little that it is soon fetched
    if (!input.info->complete()) {
      prefetch.unlike = prefetch.unlike || !maps_are_alike(*input.info);
      if (prefetch.unlike) return;  // what is placed now would be prefetched to the wrong nodes
    }
    place(job, reader, input.plan.id, decisions);
  }
}

void Preplacement::place(JobRecord& job, StageRecord& reader, std::optional<StageId> fresh, schedulers::Decisions& decisions) {
  schedulers::Preplaceable what{job.spec.job, reader.plan.id, {}, {}};
  for (StageId known : reader.placed_by) what.known.push_back({known, *first_reader(reader.plan, known)});
  if (fresh) {
    what.fresh.push_back({*fresh, *first_reader(reader.plan, *fresh)});
    reader.placed_by.push_back(*fresh);
  }
  context_.scheduler.preplace(what, decisions);
  for (StageId id : reader.placed_by) send_places(job, job.stages.at(id));
}

void Preplacement::output_moved(StageRecord& input, std::uint32_t map) {
  if (!input.prefetch.notified.empty()) input.prefetch.unsent.insert(map);
}

PrefetchShuffle Preplacement::notice(NodeId node, const JobRecord& job, const StageRecord& input) const {
  PrefetchShuffle command{node, job.spec.job, ShuffleId(input.plan.id.value()), std::nullopt, {}};
  command.block_bytes = mean_block_bytes(input.info->output);
  command.complete = input.info->complete();
  if (const auto known = known_far_.find(context_.view.node(node)->rack); known != known_far_.end()) command.far = known->second;
  return command;
}

void Preplacement::limit_far() {
  if (context_.now() < next_limits_) return;
  next_limits_ = context_.now() + std::chrono::seconds(1);
  for (const auto& [id, rack] : context_.view.racks()) {
    const std::optional<std::uint32_t> most = context_.scheduler.far_prefetches(id);
    const auto known = known_far_.find(id);
    if ((known == known_far_.end() ? UINT32_MAX : known->second) == most.value_or(UINT32_MAX)) continue;
    known_far_[id] = most.value_or(UINT32_MAX);
    for (const NodeId node : rack.nodes) tell_limit(node);
  }
}

/// With one of the shuffles that are brought there: it counts for all of them.
void Preplacement::tell_limit(NodeId node) {
  for (const auto& [job_id, job] : context_.jobs.running()) {
    for (const auto& [stage_id, stage] : job.stages) {
      if (stage.prefetch.notified.contains(node)) return context_.emit(notice(node, job, stage));
    }
  }
}

void Preplacement::send_outputs(const JobRecord& job, StageRecord& input) {
  std::vector<shuffle::MapOutput> outputs;
  for (const std::uint32_t map : std::exchange(input.prefetch.unsent, {})) {
    const schedulers::TaskInfo& task = input.info->tasks[map];
    if (task.state == schedulers::TaskState::finished) outputs.push_back({map, task.attempt(), task.node});
  }
  if (outputs.empty()) return;
  for (NodeId node : input.prefetch.notified) {
    PrefetchShuffle command = notice(node, job, input);
    command.outputs = outputs;
    context_.emit(std::move(command));
  }
}

/// Notifies nodes which partitions of the input are to be read where now, and nodes that are new to it of its outputs so far.
void Preplacement::send_places(JobRecord& job, StageRecord& input) {
  if (!input.prefetch.unsent.empty()) send_outputs(job, input);
  RoundEviction::PartitionsByNode partitions;
  for (NodeId node : input.prefetch.notified) partitions[node];
  for (StageId id : input.info->children) {
    const StageRecord& reader = job.stages.at(id);
    if (!placed_by(reader, input.plan.id)) continue;
    const std::uint32_t first = *first_reader(reader.plan, input.plan.id);
    for (const auto& [node, tasks] : reader.info->preplaced) {
      for (auto task = tasks.lower_bound(first); task != tasks.end() && *task - first < input.plan.partitions; ++task)
        partitions[node].emplace_back(*task - first, id);
    }
  }
  rounds_.place(job, input, partitions);
  const std::vector<shuffle::MapOutput> outputs = finished_outputs(*input.info);
  for (const auto& [node, there] : partitions) {
    PrefetchShuffle command = notice(node, job, input);
    command.partitions.emplace();
    for (const auto& [partition, reader] : there) command.partitions->push_back(partition);
    if (input.prefetch.notified.insert(node).second) command.outputs = outputs;
    job.nodes.insert(node);
    context_.emit(std::move(command));
  }
}

}  // namespace weft::master

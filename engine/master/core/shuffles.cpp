#include "engine/master/core/shuffles.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::master {

namespace {

using schedulers::ShuffleSizes;
using schedulers::TaskState;

/// Of outputs that were lost together.
std::string what_became_of(std::uint32_t moved, std::uint32_t lost, const std::string& why) {
  const std::string again = fmt::format("{} of its tasks run again", lost);
  if (moved == 0) return fmt::format("{}: {}", why, again);
  return fmt::format("{}: {} of its outputs are read from their copies{}", why, moved, lost == 0 ? "" : ", " + again);
}

ShuffleId shuffle_of(const StageRecord& stage) { return ShuffleId(stage.plan.id.value()); }

/// Whether a stage that reads the shuffle is active.
bool has_active_reader(const JobRecord& job, const StageRecord& stage) {
  const auto& readers = stage.info->children;
  return std::any_of(readers.begin(), readers.end(), [&](StageId id) { return job.stages.at(id).active; });
}

/// What a task reads in the mean, of files and at its own partitions.
double bytes_of_a_task(const JobRecord& job, const StageRecord& stage) {
  double bytes = 0;
  for (const schedulers::TaskInfo& task : stage.info->tasks) bytes += static_cast<double>(task.input_bytes);
  for (const plan::Branch& branch : stage.plan.branches)
    for (ShuffleId input : branch.partitioned) bytes += static_cast<double>(job.inputs()(input).output.total_bytes());
  return bytes / static_cast<double>(std::max<std::size_t>(1, stage.info->tasks.size()));
}

}  // namespace

void Shuffles::refresh(JobRecord& job) {
  std::set<StageId> wanted;
  for (auto position = job.open.end(); position != job.open.begin();) {
    --position;
    StageRecord& stage = job.stages.at(*position);
    stage.active = stage.action.has_value() || wanted.contains(stage.plan.id);
    bool ready = stage.active, complete = true;
    if (stage.active) {
      for (StageId input_id : stage.inputs) {
        StageRecord& input = job.stages.at(input_id);
        if (input.released) job.release_pending.insert(input_id);
        if (input.dropped) revive(job, input);  // enters job.open before `position`: visited next
        if (input.info->complete()) continue;
        wanted.insert(input_id);
        complete = false;
        ready &= !job.waits_for_inputs && input.info->finished >= slow_start_.threshold(job, *input.info);
      }
    }
    if (stage.active) slow_start_.set_inputs_complete(job, *stage.info, complete);
    if (stage.active && stage.outdated) context_.jobs.roll_back_later(job);
    set_ready(job, stage, ready);
  }
  drop_released(job);
}

void Shuffles::set_ready(JobRecord& job, StageRecord& stage, bool ready) {
  if (stage.info->ready == ready) return;
  if (ready && !stage.shaped) shape(job, stage);
  context_.view.set_ready(*job.info, *stage.info, ready);
  if (!ready) return;
  health_.lift_avoidance(*stage.info);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::stage_ready, .job = job.spec.job, .stage = stage.plan.id});
  context_.triggers.note_work();
}

void Shuffles::shape(const JobRecord& job, StageRecord& stage) {
  stage.shaped = true;
  if (stage.info->inputs_complete) split_or_merge(job, stage);
  for (const schedulers::TaskInfo& task : stage.info->tasks) stage.first_attempt = std::max(stage.first_attempt, task.attempts);
  for (schedulers::TaskInfo& task : stage.info->tasks) task.attempts = stage.first_attempt;
}

void Shuffles::split_or_merge(const JobRecord& job, StageRecord& stage) {
  const CoreOptions& options = context_.options;
  const ShapeRules rules{options.split_bytes, options.merge_bytes, context_.view.capacity().cpu};
  stage.splits = skew_splits(stage.plan, job.inputs(), rules);
  if (!stage.splits.empty()) {
    set_task_count(stage, task_count(stage.plan, stage.splits));
  } else if (stage.placed_by.empty() && may_merge(stage.plan, job.inputs(), rules)) {
    stage.info->bounds = merge_bounds(stage.plan, job.inputs(), rules);
    set_task_count(stage, static_cast<std::uint32_t>(stage.info->bounds.size() - 1));
  }
  if (stage.info->profile && stage.info->reads_shuffle) stage.info->profile->bytes = bytes_of_a_task(job, stage);
}

void Shuffles::restore_shape(StageRecord& stage, const std::vector<std::uint32_t>& bounds, const SkewSplits& splits) {
  stage.shaped = true;
  stage.info->bounds = bounds;
  stage.splits = splits;
  const std::uint32_t tasks = bounds.empty() ? task_count(stage.plan, splits) : static_cast<std::uint32_t>(bounds.size() - 1);
  if (tasks != stage.info->tasks.size()) set_task_count(stage, tasks);
}

void Shuffles::set_task_count(StageRecord& stage, std::uint32_t tasks) {
  context_.view.set_task_count(*stage.info, tasks);
  stage.begun.resize(tasks);
  stage.counted.resize(tasks);
  if (stage.plan.output != plan::OutputKind::result) stage.info->output = ShuffleSizes(tasks, stage.plan.partitions);
}

void Shuffles::complete(JobRecord& job, StageRecord& stage) {
  job.open.erase(stage.plan.id);
  stage.active = false;
  stage.usage.ended = context_.now();
  set_ready(job, stage, false);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::stage_complete, .job = job.spec.job, .stage = stage.plan.id});
  refresh(job);
}

void Shuffles::lose_output(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  stage.outdated |= stage.plan.indeterminate;
  replicas_.forget(stage, map);
  stage.info->output.remove(map);
  context_.view.set_task(*job.info, *stage.info, map, TaskState::pending);  // blocked until refresh() finds the stage active
  stage.locations.change();
  job.open.insert(stage.plan.id);
  context_.triggers.note_work();
}

bool Shuffles::lose_outputs_on(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why) {
  if (stage.dropped || !stage.info->output.by_node().contains(node)) return false;
  stage.info->output.forget(node);      // before its outputs leave one by one
  stage.replicas.holders.insert(node);  // if it is still there, so are their bytes
  std::uint32_t lost = 0, moved = 0;
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
    if (stage.info->tasks[map].state != TaskState::finished || stage.info->tasks[map].node != node) continue;
    if (move_to_replica(job, stage, map, why)) {
      ++moved;
    } else {
      lose_output(job, stage, map);
      ++lost;
    }
  }
  if (moved + lost > 0) context_.record_reason(job.spec.job, stage.plan.id, what_became_of(moved, lost, why));
  if (moved > 0) send_moved(job, stage);
  return lost > 0;
}

void Shuffles::lose_or_move_output(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why) {
  if (move_to_replica(job, stage, map, why)) return send_moved(job, stage);
  const NodeId node = stage.info->tasks[map].node;
  if (health_.another_node(*stage.info, node)) stage.info->tasks[map].avoid = node;
  lose_output(job, stage, map);
}

/// True when the output, which is lost where it was, is at its replica from now on. False: it has none.
bool Shuffles::move_to_replica(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why) {
  schedulers::TaskInfo& task = stage.info->tasks[map];
  const std::optional<NodeId> to = replicas_.take_over(stage, map);
  if (!to) return false;
  const NodeId from = std::exchange(task.node, *to);
  stage.info->output.move(map, *to);
  stage.locations.change();
  preplacement_.output_moved(stage, map);
  context_.emit(OutputMoved{job.spec.job, shuffle_of(stage), {map, task.attempt(), *to}, from, why});
  extend_tables(job, stage, map);
  replicas_.replicate(job, stage, map);
  return true;
}

/// To nodes that prefetch its blocks, and to those whose tasks read it: at the new places from now on.
void Shuffles::send_moved(JobRecord& job, StageRecord& stage) {
  if (!stage.prefetch.unsent.empty()) preplacement_.send_outputs(job, stage);
  if (slow_start_.on(job) || !stage.info->complete() || !has_active_reader(job, stage)) return;
  std::vector<NodeId> nodes;
  for (const auto& [node, version] : stage.locations.sent()) nodes.push_back(node);
  for (NodeId node : nodes) send_locations(job, stage, node);
}

void Shuffles::extend_tables(const JobRecord& job, const StageRecord& stage, std::uint32_t map) {
  if (!slow_start_.on(job)) return;
  const schedulers::TaskInfo& task = stage.info->tasks[map];
  for (const auto& [node, version] : stage.locations.sent())
    context_.emit(ShuffleExtended{
        node, job.spec.job, shuffle_of(stage), {map, task.attempt(), task.node}, {}, stage.locations.written_by(map)});
}

void Shuffles::send_locations(const JobRecord& job, StageRecord& stage, NodeId node) {
  if (!stage.locations.send_to(node)) return;
  const auto maps = static_cast<std::uint32_t>(stage.info->tasks.size());
  const OutputTable& outputs = stage.locations.outputs(*stage.info);
  context_.emit(ShuffleLocations{
      node, job.spec.job, shuffle_of(stage), outputs, slow_start_.on(job) ? maps : 0, {}, stage.locations.written()});
}

void Shuffles::revive(JobRecord& job, StageRecord& stage) {
  stage.dropped = false;
  stage.info->output = ShuffleSizes(static_cast<std::uint32_t>(stage.info->tasks.size()), stage.plan.partitions);
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) lose_output(job, stage, map);
}

bool Shuffles::is_released(const JobRecord& job, const StageRecord& stage) {
  return stage.released && !stage.active && !has_active_reader(job, stage);
}

void Shuffles::drop_released(JobRecord& job) {
  for (auto pending = job.release_pending.begin(); pending != job.release_pending.end();) {
    StageRecord& stage = job.stages.at(*pending);
    if (!is_released(job, stage)) {
      ++pending;
      continue;
    }
    drop(job, stage);
    pending = job.release_pending.erase(pending);
  }
}

void Shuffles::drop(JobRecord& job, StageRecord& stage) {
  if (stage.dropped) return;
  if (!stage.info->complete()) return discard(job, stage);  // half made and wanted by nobody
  release(job, stage);
  stage.dropped = !stage.info->tasks.empty();
  stage.info->output = ShuffleSizes(0, stage.plan.partitions);
}

void Shuffles::discard(JobRecord& job, StageRecord& stage) {
  release(job, stage);
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
    if (stage.info->tasks[map].state == TaskState::finished) lose_output(job, stage, map);
  }
  stage.info->output = ShuffleSizes(static_cast<std::uint32_t>(stage.info->tasks.size()), stage.plan.partitions);
}

/// Whoever has something of the shuffle may forget it.
void Shuffles::release(const JobRecord& job, StageRecord& stage) {
  std::set<NodeId> holders;
  for (const auto& [node, sizes] : stage.info->output.by_node()) holders.insert(node);
  for (const auto& [node, version] : stage.locations.sent()) holders.insert(node);
  holders.insert(stage.prefetch.notified.begin(), stage.prefetch.notified.end());
  holders.insert(stage.replicas.holders.begin(), stage.replicas.holders.end());
  for (NodeId node : holders) context_.emit(ReleaseShuffle{node, job.spec.job, shuffle_of(stage)});
  replicas_.forget_all(stage);
  stage.locations.clear();
  stage.prefetch.notified.clear();
  stage.prefetch.unsent.clear();
  rounds_.drop(job.spec.job, stage.plan.id);
}

}  // namespace weft::master

// Which stages run, and which map outputs are held: readiness, lineage, release, location tables.
//
// A stage's inputs always have smaller ids (validated), so one pass from the last stage to the first settles everything: a result
// stage is active until its action is finished, any other one while an active stage lacks its output.
#include <algorithm>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// Of outputs that were lost together.
std::string what_became_of(std::uint32_t moved, std::uint32_t lost, const std::string& why) {
  const std::string again = fmt::format("{} of its tasks run again", lost);
  if (moved == 0) return fmt::format("{}: {}", why, again);
  return fmt::format("{}: {} of its outputs are read from their copies{}", why, moved, lost == 0 ? "" : ", " + again);
}

}  // namespace

void Core::Impl::refresh(JobRecord& job) {
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
        ready &= !job.patient && input.info->finished >= start_threshold(input);
      }
    }
    if (stage.active) set_inputs_complete(stage, complete);
    set_ready(job, stage, ready);
  }
  drop_released(job);
}

void Core::Impl::set_ready(JobRecord& job, StageRecord& stage, bool ready) {
  if (stage.info->ready == ready) return;
  if (ready && !stage.shaped) shape(job, stage);
  state_.set_ready(*job.info, *stage.info, ready);
  if (!ready) return;
  lift_avoidance(*stage.info);
  notify({.kind = schedulers::Notice::Kind::stage_ready, .job = job.spec.job, .stage = stage.plan.id});
  trigger_work();
}

void Core::Impl::stage_complete(JobRecord& job, StageRecord& stage) {
  job.open.erase(stage.plan.id);
  stage.active = false;
  set_ready(job, stage, false);
  notify({.kind = schedulers::Notice::Kind::stage_complete, .job = job.spec.job, .stage = stage.plan.id});
  refresh(job);
  finish_actions(job);
}

void Core::Impl::lose_output(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  forget_copy(stage, map);
  stage.info->output.remove(map);
  state_.set_task(*job.info, *stage.info, map, schedulers::TaskState::pending);  // blocked until refresh() finds the stage active
  ++stage.table_version;
  job.open.insert(stage.plan.id);
  trigger_work();
}

/// Those with a copy are there from now on. True when some are to be made again.
bool Core::Impl::lose_outputs_on(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why) {
  if (stage.dropped || !stage.info->output.by_node().contains(node)) return false;
  stage.info->output.forget(node);    // before its outputs leave one by one
  stage.copies.holders.insert(node);  // if it is still there, so are their bytes
  std::uint32_t lost = 0, moved = 0;
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
    if (stage.info->tasks[map].state != schedulers::TaskState::finished || stage.info->tasks[map].node != node) continue;
    if (use_copy(job, stage, map, why)) {
      ++moved;
    } else {
      lose_output(job, stage, map);
      ++lost;
    }
  }
  if (moved + lost > 0) record_reason(job.spec.job, stage.plan.id, what_became_of(moved, lost, why));
  if (moved > 0) tell_moved(job, stage);
  return lost > 0;
}

void Core::Impl::revive(JobRecord& job, StageRecord& stage) {
  stage.dropped = false;
  stage.info->output = schedulers::ShuffleSizes(static_cast<std::uint32_t>(stage.info->tasks.size()), stage.plan.partitions);
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) lose_output(job, stage, map);
}

void Core::Impl::drop_released(JobRecord& job) {
  for (auto pending = job.release_pending.begin(); pending != job.release_pending.end();) {
    StageRecord& stage = job.stages.at(*pending);
    const auto& readers = stage.info->children;
    const bool needed =
        stage.active || std::any_of(readers.begin(), readers.end(), [&job](StageId id) { return job.stages.at(id).active; });
    if (needed) {
      ++pending;
      continue;
    }
    drop(job, stage);
    pending = job.release_pending.erase(pending);
  }
}

void Core::Impl::drop(JobRecord& job, StageRecord& stage) {
  if (stage.dropped) return;
  std::set<NodeId> holders;
  for (const auto& [node, sizes] : stage.info->output.by_node()) holders.insert(node);
  for (const auto& [node, version] : stage.sent) holders.insert(node);
  holders.insert(stage.told.begin(), stage.told.end());
  holders.insert(stage.copies.holders.begin(), stage.copies.holders.end());
  for (NodeId node : holders) emit(ReleaseShuffle{node, job.spec.job, ShuffleId(stage.plan.id.value())});
  forget_copies(stage);
  stage.sent.clear();
  stage.told.clear();
  stage.untold.clear();
  units_.drop({job.spec.job, stage.plan.id});
  stage.table.reset();
  ++stage.table_version;
  if (stage.info->complete()) {
    stage.dropped = !stage.info->tasks.empty();
  } else {  // half made and wanted by nobody
    for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
      if (stage.info->tasks[map].state == schedulers::TaskState::finished) lose_output(job, stage, map);
    }
  }
  stage.info->output =
      schedulers::ShuffleSizes(static_cast<std::uint32_t>(stage.dropped ? 0 : stage.info->tasks.size()), stage.plan.partitions);
}

const OutputTable& Core::Impl::table_of(StageRecord& stage) {
  const schedulers::StageInfo& info = *stage.info;
  const bool right = stage.table && stage.version_of_table == stage.table_version && stage.table->size() == info.finished;
  if (right) return stage.table;
  std::vector<shuffle::MapOutput> outputs;
  outputs.reserve(info.finished);
  for (std::uint32_t map = 0; map < info.tasks.size(); ++map) {
    const schedulers::TaskInfo& task = info.tasks[map];
    if (task.state == schedulers::TaskState::finished) outputs.push_back({map, task.attempt(), task.node});
  }
  stage.version_of_table = stage.table_version;
  return stage.table = std::make_shared<const std::vector<shuffle::MapOutput>>(std::move(outputs));
}

void Core::Impl::send_locations(JobRecord& job, StageRecord& stage, NodeId node) {
  auto [sent, first] = stage.sent.try_emplace(node, 0);
  if (sent->second == stage.table_version) return;
  sent->second = stage.table_version;
  emit(ShuffleLocations{node, job.spec.job, ShuffleId(stage.plan.id.value()), table_of(stage)});
}

}  // namespace weft::master

// Slow start: stages that begin before their inputs are complete, and wait for the rest while they run.
//
// Such readers hold room that the stages they wait for may need. When nothing but waiting readers runs, and what they wait for
// finds room nowhere, the newest of them is stopped, and its job waits for complete inputs from then on.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/master/core_impl.hpp"

namespace weft::master {

/// How many of the tasks of an input must be finished before its readers may start.
std::uint32_t Core::Impl::start_threshold(const StageRecord& input) const {
  const auto tasks = static_cast<double>(input.info->tasks.size());
  if (options_.slow_start >= 1) return static_cast<std::uint32_t>(tasks);
  return static_cast<std::uint32_t>(std::ceil(std::max(0.0, options_.slow_start) * tasks));
}

void Core::Impl::set_inputs_complete(StageRecord& stage, bool complete) {
  if (stage.info->inputs_complete == complete) return;
  stage.info->inputs_complete = complete;
  const std::uint64_t attempts = stage.info->running + stage.info->speculative.size();
  if (complete) {
    early_ -= attempts;
  } else {
    early_ += attempts;
  }
}

void Core::Impl::extend_tables(JobRecord& job, StageRecord& stage, const TaskRef& task) {
  const shuffle::MapOutput output{task.index, task.info().attempt(), task.info().node};
  for (const auto& [node, version] : stage.sent)
    emit(ShuffleExtended{node, job.spec.job, ShuffleId(stage.plan.id.value()), output});
}

/// A heartbeat's call. Which nodes got nothing is kept as long as nothing changes.
void Core::Impl::ask_for(NodeId node) {
  const std::uint64_t before = changes_;
  call_scheduler({schedulers::Trigger::Kind::node, node});
  if (std::exchange(in_vain_at_, changes_) != before || changes_ != before) in_vain_.clear();
  if (changes_ == before) in_vain_.insert(node);
}

/// Whether every node with room has been asked for in vain since anything changed.
bool Core::Impl::all_asked() const {
  const auto& free = state_.free_nodes();
  return in_vain_at_ == changes_ && std::includes(in_vain_.begin(), in_vain_.end(), free.begin(), free.end());
}

/// A ready stage of it, that others wait for, has tasks, none of which can be launched now: there is no room, or the scheduler
/// leaves it idle (a limit of a queue that the readers fill) and waits for nothing.
bool Core::Impl::starved(const JobRecord& job) const {
  const bool may_wait = !wakes_.empty() || (options_.on_heartbeats && !all_asked());
  return std::any_of(job.info->runnable.begin(), job.info->runnable.end(), [&](StageId id) {
    const StageRecord& stage = job.stages.at(id);
    if (!stage.info->inputs_complete) return false;
    if (!may_wait) return true;  // the scheduler was called, for every node, and nothing but waiting readers runs
    return std::none_of(state_.free_nodes().begin(), state_.free_nodes().end(), [&](NodeId id_of_node) {
      const schedulers::NodeInfo& node = *state_.node(id_of_node);
      return schedulers::fits(stage.info->demand, node.used, node.capacity) &&
             stage.info->pending.pick(node.id, node.host, node.rack, schedulers::Locality::any).has_value();
    });
  });
}

std::optional<TaskRef> Core::Impl::newest_early_reader() {
  std::optional<TaskRef> newest;
  for (auto& [id, job] : jobs_) {
    if (!starved(job)) continue;
    for (StageId stage_id : job.open) {
      StageRecord& stage = job.stages.at(stage_id);
      if (stage.info->inputs_complete || stage.info->running == 0) continue;
      for (std::uint32_t i = 0; i < stage.info->tasks.size(); ++i) {
        const TaskRef task{&job, &stage, i, stage.info->speculative.contains(i)};
        if (task.info().state != schedulers::TaskState::running) continue;
        if (!newest || task.launched() >= newest->launched()) newest = task;
      }
    }
  }
  return newest;
}

/// True when room was made that the scheduler should know of.
bool Core::Impl::make_way() {
  if (options_.slow_start >= 1 || early_ == 0 || early_ != running_) return false;
  const std::optional<TaskRef> stopped = newest_early_reader();
  if (!stopped) return false;
  JobRecord& job = *stopped->job;
  const std::string why = "makes way for the tasks whose output it waits for";
  emit(KillTask{stopped->node(), stopped->attempt(), KillCause::making_way, why});
  vacate(*stopped);
  give_up_attempt(*stopped);
  record_reason(job.spec.job, stopped->stage->plan.id, why);
  job.patient = true;
  refresh(job);
  trigger_work();
  return true;
}

}  // namespace weft::master

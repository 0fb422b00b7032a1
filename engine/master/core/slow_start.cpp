#include "engine/master/core/slow_start.hpp"

#include <algorithm>
#include <cmath>

namespace weft::master {

std::uint32_t SlowStart::threshold(const schedulers::StageInfo& input) const {
  const auto tasks = static_cast<double>(input.tasks.size());
  if (!on()) return static_cast<std::uint32_t>(tasks);
  return static_cast<std::uint32_t>(std::ceil(std::max(0.0, context_.options.slow_start) * tasks));
}

void SlowStart::attempt_started(const schedulers::StageInfo& stage) {
  ++running_;
  if (!stage.inputs_complete) ++early_;
}

void SlowStart::attempt_ended(const schedulers::StageInfo& stage) {
  --running_;
  if (!stage.inputs_complete) --early_;
}

void SlowStart::set_inputs_complete(schedulers::StageInfo& stage, bool complete) {
  if (stage.inputs_complete == complete) return;
  stage.inputs_complete = complete;
  const std::uint64_t attempts = stage.running + stage.speculative.size();
  if (complete) {
    early_ -= attempts;
  } else {
    early_ += attempts;
  }
}

/// A ready stage of it, that others wait for, has tasks, none of which can be launched now: there is no room, or the scheduler
/// leaves it idle (a limit of a queue that the readers fill) and waits for nothing.
bool SlowStart::starved(const JobRecord& job) const {
  const schedulers::ClusterState& view = context_.view;
  const bool may_wait = context_.timers.next_wake().has_value() || context_.triggers.expects_heartbeats(view.free_nodes());
  return std::any_of(job.info->runnable.begin(), job.info->runnable.end(), [&](StageId id) {
    const schedulers::StageInfo& stage = job.info->stages.at(id);
    if (!stage.inputs_complete) return false;
    if (!may_wait) return true;  // the scheduler was called, for every node, and nothing but early readers runs
    return std::none_of(view.free_nodes().begin(), view.free_nodes().end(), [&](NodeId node_id) {
      const schedulers::NodeInfo& node = *view.node(node_id);
      return schedulers::fits(stage.demand, node.used, node.capacity) &&
             stage.pending.pick(node.id, node.host, node.rack, schedulers::Locality::any).has_value();
    });
  });
}

std::optional<TaskRef> SlowStart::reader_to_stop() {
  if (!on() || early_ == 0 || early_ != running_) return std::nullopt;
  std::optional<TaskRef> newest;
  for (auto& [id, job] : context_.jobs.running()) {
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

}  // namespace weft::master

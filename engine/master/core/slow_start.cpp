#include "engine/master/core/slow_start.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::master {

namespace {

/// How long maps may find no room before a reader that waits for them makes way, whatever else runs: between once and twice this.
constexpr Time kStarvationCheck = std::chrono::minutes(1);

}  // namespace

std::uint32_t SlowStart::threshold(const JobRecord& job, const schedulers::StageInfo& input) const {
  const auto tasks = static_cast<double>(input.tasks.size());
  return static_cast<std::uint32_t>(std::ceil(std::clamp(job.info->slow_start, 0.0, 1.0) * tasks));
}

void SlowStart::attempt_started(JobRecord& job, const schedulers::StageInfo& stage) {
  ++running_;
  if (stage.inputs_complete) {
    job.starved = false;
    return;
  }
  ++early_;
  if (!on(job)) return;
  job.stages.at(stage.id).started_early = true;
  look_later();
}

void SlowStart::attempt_ended(const schedulers::StageInfo& stage) {
  --running_;
  if (!stage.inputs_complete) --early_;
}

void SlowStart::set_inputs_complete(const JobRecord& job, schedulers::StageInfo& stage, bool complete) {
  if (stage.inputs_complete == complete) return;
  stage.inputs_complete = complete;
  const std::uint64_t attempts = stage.running + stage.speculative.size();
  if (complete) {
    early_ -= attempts;
    if (on(job)) stage.inputs_since = context_.now();
  } else {
    early_ += attempts;
    if (attempts > 0 && on(job)) look_later();
  }
}

void SlowStart::look_later() {
  if (std::exchange(looks_later_, true)) return;
  context_.timers.set({Timers::Purpose::early_readers, context_.now() + kStarvationCheck});
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

void SlowStart::newest_reader(JobRecord& job, std::optional<TaskRef>& newest) const {
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

std::optional<TaskRef> SlowStart::reader_to_stop() {
  if (early_ == 0 || early_ != running_) return std::nullopt;
  std::optional<TaskRef> newest;
  for (auto& [id, job] : context_.jobs.running())
    if (on(job) && starved(job)) newest_reader(job, newest);
  return newest;
}

/// It has tasks that others wait for and that could run, and none of them does.
bool SlowStart::nothing_else_runs(const JobRecord& job) const {
  const auto& runnable = job.info->runnable;
  const bool could =
      std::any_of(runnable.begin(), runnable.end(), [&](StageId id) { return job.info->stages.at(id).inputs_complete; });
  return could && std::none_of(job.open.begin(), job.open.end(), [&](StageId id) {
           const schedulers::StageInfo& stage = *job.stages.at(id).info;
           return stage.inputs_complete && stage.running > 0;
         });
}

std::optional<TaskRef> SlowStart::reader_of_starved_job() {
  looks_later_ = false;
  if (early_ == 0) return std::nullopt;
  look_later();
  std::optional<TaskRef> newest;
  for (auto& [id, job] : context_.jobs.running()) {
    if (!on(job)) continue;
    const bool before = std::exchange(job.starved, nothing_else_runs(job));
    if (before && job.starved) newest_reader(job, newest);
  }
  return newest;
}

}  // namespace weft::master

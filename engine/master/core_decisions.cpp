// What schedulers decide, checked. A wrong decision is refused, recorded as the stage's reason, and changes nothing else.
#include <algorithm>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

namespace weft::master {

Result<void> Core::Impl::launch(const TaskId& id, NodeId node, std::string_view reason) {
  count_decision();
  if (auto wrong = state_.why_not(id, node)) return refuse(id.job, id.stage, fmt::format("launch refused: {}", *wrong));
  JobRecord& job = jobs_.at(id.job);
  StageRecord& stage = job.stages.at(id.stage);
  schedulers::TaskInfo& info = stage.info->tasks[id.index];
  const bool second = info.state == schedulers::TaskState::running;
  AttemptId attempt{id, info.attempts};
  if (second) {
    state_.add_speculative(id, *stage.info, node);
    ++stage.speculative;
  } else {
    state_.set_task(*job.info, *stage.info, id.index, schedulers::TaskState::running);
    ++info.attempts;
    info.later_attempts = 0;
    info.node = node;
    info.launched = state_.now();
  }
  state_.occupy(node, attempt, *job.info, stage.info->demand);
  ++running_;
  ++changes_;
  if (!stage.info->inputs_complete) ++early_;
  job.nodes.insert(node);
  emit_launch(job, stage, attempt, node, reason);
  using Kind = schedulers::Notice::Kind;
  notify({second ? Kind::attempt_added : Kind::task_launched, id.job, id.stage, id.index, node});
  watch_stage(job, stage);
  tell_changes();
  return {};
}

void Core::Impl::emit_launch(JobRecord& job, StageRecord& stage, const AttemptId& attempt, NodeId node, std::string_view reason) {
  LaunchTask command;
  command.node = node;
  command.attempt = attempt;
  command.speculative = stage.info->speculative.contains(attempt.task.index);
  command.spec = spec_of(job, stage, attempt.task.index);
  const plan::Branch& branch = stage.plan.branches[command.spec.branch];
  command.inputs = branch.partitioned;
  command.inputs.insert(command.inputs.end(), branch.broadcast.begin(), branch.broadcast.end());
  for (ShuffleId input : command.inputs) send_locations(job, job.stages.at(StageId(input.value())), node);
  command.timeout = job.spec.task_timeout;
  command.stage_name = stage.plan.name;
  command.reason = reason;
  emit(std::move(command));
}

Result<void> Core::Impl::preempt(const AttemptId& attempt, std::string_view reason) {
  count_decision();
  if (!state_.launched(attempt))
    return refuse(attempt.task.job, attempt.task.stage, fmt::format("preemption refused: {} is not running", to_string(attempt)));
  const TaskRef task = ref_of(attempt);
  const NodeId node = task.node();
  emit(KillTask{node, attempt, KillCause::preempted, fmt::format("preempted: {}", reason)});
  release(task);
  const bool races = task.races();
  give_up_attempt(task);
  record_reason(attempt.task.job, attempt.task.stage, fmt::format("preempted: {}", reason));
  if (!races) notify({schedulers::Notice::Kind::task_preempted, attempt.task.job, attempt.task.stage, attempt.task.index, node});
  tell_changes();
  return {};
}

Result<void> Core::Impl::preplace(const TaskId& id, NodeId node, std::string_view reason) {
  count_decision();
  const schedulers::TaskInfo* info = state_.task(id);
  std::string wrong;
  if (info == nullptr) {
    wrong = fmt::format("there is no {}", to_string(id));
  } else if (info->state == schedulers::TaskState::running || info->state == schedulers::TaskState::finished) {
    wrong = fmt::format("{} is launched already", to_string(id));
  } else if (state_.node(node) == nullptr) {
    wrong = fmt::format("there is no node {}", node.value());
  } else if (info->preplaced == node) {
    wrong = fmt::format("{} is placed on {} already", to_string(id), node_name(node));
  } else {
    state_.preplace(*jobs_.at(id.job).stages.at(id.stage).info, id.index, node);
    return {};
  }
  return refuse(id.job, id.stage, fmt::format("placement refused: {} ({})", wrong, reason));
}

void Core::Impl::hold(JobId job, std::optional<StageId> stage, std::string_view reason) {
  count_decision();
  record_reason(job, stage, reason);
}

void Core::Impl::record_reason(JobId job_id, std::optional<StageId> stage_id, std::string_view reason) {
  auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return;
  std::optional<schedulers::Reason>* held = &job->second.info->held;
  if (stage_id) {
    auto stage = job->second.stages.find(*stage_id);
    if (stage == job->second.stages.end()) return;
    held = &stage->second.info->held;
  }
  if (!*held) *held = schedulers::Reason{};
  (*held)->at = state_.now();
  if ((*held)->text != reason) (*held)->text = reason;
}

void Core::Impl::wake_at(Time at) {
  count_decision();
  at = std::max(at, state_.now() + Time(1));  // time must pass between two calls
  if (!wakes_.empty() && *wakes_.begin() <= at) return;
  set_timer(Timer::Purpose::scheduler, {}, at);
}

}  // namespace weft::master

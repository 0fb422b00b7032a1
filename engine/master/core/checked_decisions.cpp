#include "engine/master/core/checked_decisions.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::master {

tl::unexpected<Error> CheckedDecisions::refuse(const TaskId& task, std::string why) {
  context_.record_reason(task.job, task.stage, why);
  context_.scheduler.count_refusal(why);
  return fail(Code::invalid_argument, std::move(why));
}

Result<void> CheckedDecisions::launch(const TaskId& task, NodeId node, std::string_view reason) {
  context_.scheduler.count_decision();
  if (auto wrong = context_.view.why_not(task, node)) return refuse(task, fmt::format("launch refused: {}", *wrong));
  attempts_.launch(task, node, reason);
  return {};
}

Result<void> CheckedDecisions::preempt(const AttemptId& attempt, std::string_view reason) {
  context_.scheduler.count_decision();
  if (!context_.view.launched(attempt))
    return refuse(attempt.task, fmt::format("preemption refused: {} is not running", to_string(attempt)));
  const TaskRef task = attempts_.at(attempt);
  const TaskId id = attempt.task;
  const NodeId node = task.node();
  const bool runs_twice = task.runs_twice();
  const std::string why = fmt::format("preempted: {}", reason);
  attempts_.kill(task, KillCause::preempted, why);
  attempts_.release(task, &StageAttempts::killed);
  attempts_.give_up(task);
  context_.record_reason(id.job, id.stage, why);
  if (!runs_twice) context_.scheduler.notify({schedulers::Notice::Kind::task_preempted, id.job, id.stage, id.index, node});
  context_.scheduler.notify_changed_jobs();
  return {};
}

std::optional<std::string> CheckedDecisions::why_not_preplace(const TaskId& task, NodeId node) const {
  const schedulers::TaskInfo* info = context_.view.task(task);
  if (info == nullptr) return fmt::format("there is no {}", to_string(task));
  if (info->state == schedulers::TaskState::running || info->state == schedulers::TaskState::finished)
    return fmt::format("{} is launched already", to_string(task));
  if (context_.view.node(node) == nullptr) return fmt::format("there is no node {}", node.value());
  if (info->preplaced == node) return fmt::format("{} is placed on {} already", to_string(task), context_.node_name(node));
  return std::nullopt;
}

Result<void> CheckedDecisions::preplace(const TaskId& task, NodeId node, std::string_view reason) {
  context_.scheduler.count_decision();
  if (const auto wrong = why_not_preplace(task, node))
    return refuse(task, fmt::format("placement refused: {} ({})", *wrong, reason));
  context_.view.preplace(*context_.jobs.at(task.job).stages.at(task.stage).info, task.index, node);
  return {};
}

void CheckedDecisions::hold(JobId job, std::optional<StageId> stage, std::string_view reason) {
  context_.scheduler.count_decision();
  context_.record_reason(job, stage, reason);
}

void CheckedDecisions::wake_at(Time at) {
  context_.scheduler.count_decision();
  at = std::max(at, context_.now() + Time(1));  // time must pass between two calls
  if (const auto next = context_.timers.next_wake(); next && *next <= at) return;
  context_.timers.set({Timers::Purpose::scheduler, at});
}

}  // namespace weft::master

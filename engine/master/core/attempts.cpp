#include "engine/master/core/attempts.hpp"

#include <fmt/format.h>

namespace weft::master {

namespace {

using schedulers::TaskState;
using NoticeKind = schedulers::Notice::Kind;

}  // namespace

void Attempts::notify(schedulers::Notice::Kind kind, const TaskId& task, NodeId node) {
  context_.scheduler.notify({kind, task.job, task.stage, task.index, node});
}

Result<TaskRef> Attempts::running(const AttemptId& attempt, NodeId node) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(attempt.task.job));
  auto stage = job->stages.find(attempt.task.stage);
  if (stage == job->stages.end() || attempt.task.index >= stage->second.info->tasks.size())
    return fail(Code::not_found, fmt::format("there is no {}", to_string(attempt.task)));
  const TaskRef ref{job, &stage->second, attempt.task.index};
  const schedulers::TaskInfo& task = ref.info();
  if (attempt.attempt >= task.attempts) return fail(Code::not_found, fmt::format("{} was never started", to_string(attempt)));
  if (task.state != TaskState::running)
    return fail(Code::cancelled, fmt::format("{} is fenced: it is not running any more", to_string(attempt)));
  if (task.attempt() == attempt.attempt && task.node == node) return ref;
  const TaskRef other = ref.other();
  if (ref.runs_twice() && other.attempt() == attempt && other.node() == node) return other;
  return fail(Code::cancelled, fmt::format("{} is fenced: attempt {} runs on {}", to_string(attempt), task.attempt(),
                                           context_.node_name(task.node)));
}

TaskRef Attempts::at(const AttemptId& running) {
  JobRecord& job = context_.jobs.at(running.task.job);
  TaskRef task{&job, &job.stages.at(running.task.stage), running.task.index};
  task.speculative = task.runs_twice() && task.info().attempt() != running.attempt;
  return task;
}

void Attempts::launch(const TaskId& id, NodeId node, std::string_view reason) {
  schedulers::ClusterState& view = context_.view;
  JobRecord& job = context_.jobs.at(id.job);
  StageRecord& stage = job.stages.at(id.stage);
  schedulers::TaskInfo& info = stage.info->tasks[id.index];
  const bool speculative = info.state == TaskState::running;
  const AttemptId attempt{id, info.attempts};
  if (speculative) {
    view.add_speculative(id, *stage.info, node);
    ++stage.speculative;
  } else {
    view.set_task(*job.info, *stage.info, id.index, TaskState::running);
    StageAttempts& count = stage.usage.attempts;
    if (count.first == 0) stage.usage.began = context_.now();
    ++(stage.begun[id.index] ? count.retried : count.first);
    stage.begun[id.index] = true;
    ++info.attempts;
    info.later_attempts = 0;
    info.node = node;
    info.launched = context_.now();
  }
  const bool device = stage.info->takes_device(id.index, view.nodes().at(node)) &&
                      (stage.info->demand.accelerator > 0 || stage.devices.pays(*stage.info));
  if (device) stage.devices.began_with_device();
  view.occupy(node, attempt, *job.info, stage.info->demand, device);
  slow_start_.attempt_started(job, *stage.info);
  context_.triggers.note_change();
  job.nodes.insert(node);
  send_launch(job, stage, attempt, node, reason);
  notify(speculative ? NoticeKind::attempt_added : NoticeKind::task_launched, id, node);
  stragglers_.watch(id.job, *stage.info);
  context_.scheduler.notify_changed_jobs();
}

void Attempts::send_launch(JobRecord& job, StageRecord& stage, const AttemptId& attempt, NodeId node, std::string_view reason) {
  LaunchTask command;
  command.node = node;
  command.attempt = attempt;
  command.speculative = stage.info->speculative.contains(attempt.task.index);
  command.spec = shaped_task_spec(stage.plan, stage.info->bounds, stage.splits, job.inputs(), attempt.task.index);
  command.spec.first_attempt = stage.first_attempt;
  const schedulers::NodeInfo& where = context_.view.nodes().at(node);
  command.device = where.with_device.contains(attempt);
  command.needs_device = stage.info->demand.accelerator > 0;
  command.spec.variants = stage.info->variants_on(where, command.device);
  if (!command.spec.variants.empty()) ++stage.usage.accelerated;
  const plan::Branch& branch = stage.plan.branches[command.spec.branch];
  command.inputs = branch.partitioned;
  command.inputs.insert(command.inputs.end(), branch.broadcast.begin(), branch.broadcast.end());
  for (ShuffleId input : command.inputs) shuffles_.send_locations(job, job.stages.at(StageId(input.value())), node);
  command.timeout = job.spec.options.task_timeout;
  command.stage_name = stage.plan.name;
  command.reason = reason;
  context_.emit(std::move(command));
}

void Attempts::kill(const TaskRef& task, KillCause cause, std::string reason) {
  context_.emit(KillTask{task.node(), task.attempt(), cause, std::move(reason)});
}

void Attempts::release(const TaskRef& task, Fate fate) {
  ++(task.stage->usage.attempts.*fate);
  slow_start_.attempt_ended(*task.stage->info);
  context_.triggers.note_change();
  context_.view.vacate(task.node(), task.attempt(), *task.job->info, task.stage->info->demand);
}

void Attempts::vacate(const TaskRef& task, Fate fate) {
  release(task, fate);
  context_.triggers.note_node(task.node());
}

void Attempts::give_up(const TaskRef& task) {
  if (!task.runs_twice()) return context_.view.set_task(*task.job->info, *task.stage->info, task.index, TaskState::pending);
  const NodeId node = task.node();
  if (task.speculative) {
    context_.view.drop_speculative(*task.stage->info, task.index);
  } else {
    context_.view.promote_speculative(*task.stage->info, task.index);
  }
  notify(NoticeKind::attempt_dropped, task.id(), node);
  stragglers_.watch(task.job->spec.job, *task.stage->info);
}

void Attempts::requeue(const TaskRef& task, std::optional<NodeId> avoid) {
  task.info().avoid = avoid;
  give_up(task);
  context_.triggers.note_work();
}

void Attempts::win(const TaskRef& winner) {
  const TaskRef loser = winner.other();
  const NodeId node = loser.node();
  if (winner.speculative)
    stragglers_.note_pace(*winner.stage->info, node, loser.stage->info->worked(loser.launched(), context_.now()));
  kill(loser, KillCause::lost_race, "another attempt of the task finished first");
  vacate(loser, &StageAttempts::killed);
  if (winner.speculative) {
    ++winner.stage->speculative_won;
    context_.view.promote_speculative(*winner.stage->info, winner.index);
  } else {
    context_.view.drop_speculative(*winner.stage->info, winner.index);
  }
  notify(NoticeKind::attempt_dropped, winner.id(), node);
}

}  // namespace weft::master

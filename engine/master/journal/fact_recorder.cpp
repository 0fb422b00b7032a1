#include "engine/master/journal/fact_recorder.hpp"

#include <utility>

namespace weft::master {

void FactRecorder::record(JobId job, JobFact fact, Journal::Keep keep) {
  JournalRecord record;
  record.job = job;
  record.fact = std::move(fact);
  record_(std::move(record), keep);
}

void FactRecorder::before(const Event& event) {
  event_ = {};
  const schedulers::ClusterView& view = shell_.core().view();
  if (const auto* finished = std::get_if<TaskFinished>(&event)) {
    const auto launched = view.launched(finished->attempt);
    if (launched) event_ = Finishing{finished->attempt.task.job, fact_of(*finished, *launched, shell_.now())};
  } else if (const auto* failed = std::get_if<TaskFailed>(&event)) {
    if (const schedulers::TaskInfo* task = view.task(failed->attempt.task)) event_ = Failing{failed->attempt, task->failures};
  }
}

void FactRecorder::after(const std::vector<Command>& commands) {
  if (auto* finishing = std::get_if<Finishing>(&event_)) record_finish(*finishing);
  if (const auto* failing = std::get_if<Failing>(&event_)) record_failure(*failing);
  event_ = {};
  for (const Command& command : commands) {
    if (const auto* launch = std::get_if<LaunchTask>(&command)) record_launch(*launch);
    if (const auto* back = std::get_if<StageRolledBack>(&command)) record_shape(back->job, back->stage);
    if (const auto* lost = std::get_if<NodeLost>(&command)) {
      JournalRecord record;
      record.node_gone = lost->node;
      record_(std::move(record), Journal::Keep::needed);
    }
    const auto* finished = std::get_if<JobFinished>(&command);
    const auto* failed = std::get_if<JobFailed>(&command);
    if (finished == nullptr && failed == nullptr) continue;
    const JobId over = finished != nullptr ? finished->job : failed->job;
    shaped_.erase(shaped_.lower_bound({over, StageId(0)}), shaped_.upper_bound({over, StageId(UINT32_MAX)}));
  }
}

/// The core took it for the end of the task, and the job goes on.
void FactRecorder::record_finish(Finishing& finishing) {
  const FinishFact& fact = finishing.fact;
  const schedulers::TaskInfo* task = shell_.core().view().task({finishing.job, fact.stage, fact.task});
  if (task == nullptr || task->state != schedulers::TaskState::finished || task->attempt() != fact.attempt) return;
  finishing.fact.next = task->attempts;
  record(finishing.job, std::move(finishing.fact), Journal::Keep::promised);
}

void FactRecorder::record_failure(const Failing& failing) {
  const TaskId& id = failing.attempt.task;
  const schedulers::TaskInfo* task = shell_.core().view().task(id);
  if (task == nullptr || task->failures == failing.counted) return;
  record(id.job, FailureFact{id.stage, id.index, failing.attempt.attempt, task->failures, 0, task->attempts},
         Journal::Keep::needed);
}

void FactRecorder::record_shape(JobId job, StageId stage) {
  if (const auto shape = shell_.core().shape(job, stage)) record(job, fact_of(*shape), Journal::Keep::needed);
}

void FactRecorder::record_launch(const LaunchTask& launch) {
  const TaskId& id = launch.attempt.task;
  if (shaped_.insert({id.job, id.stage}).second) record_shape(id.job, id.stage);
  record(id.job, LaunchFact{id.stage, id.index, launch.attempt.attempt, launch.node, shell_.now(), 0, launch.attempt.attempt + 1},
         Journal::Keep::needed);
}

}  // namespace weft::master

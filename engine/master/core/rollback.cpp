#include "engine/master/core/rollback.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace weft::master {

using schedulers::TaskState;

void Rollback::apply() {
  for (auto jobs = context_.jobs.take_rolling_back(); !jobs.empty(); jobs = context_.jobs.take_rolling_back()) {
    for (const JobId id : jobs) {
      const auto job = context_.jobs.running().find(id);
      if (job != context_.jobs.running().end() && !context_.jobs.failing(id)) apply(job->second);
    }
  }
}

/// The inputs of a stage have smaller ids, so one pass finds all that depends on an output. What reads is discarded before what it
/// reads: of a journal that ends between the records of two, the next master can make the rest.
void Rollback::apply(JobRecord& job) {
  std::map<StageId, std::string> stale;  // stages whose outputs are made again, or of what is made again, and why
  std::vector<StageRecord*> readers;
  for (auto& [id, stage] : job.stages) {
    const auto input = std::find_if(stage.inputs.begin(), stage.inputs.end(), [&](StageId other) { return stale.contains(other); });
    if (input != stage.inputs.end()) {
      stale.emplace(id, stale.at(*input));
      readers.push_back(&stage);
    } else if (stage.active && stage.outdated) {
      stale.emplace(id, fmt::format("outputs of {} were lost, and those that are made again may be others", stage.title()));
      stage.outdated = false;
    }
  }
  std::for_each(readers.rbegin(), readers.rend(), [&](StageRecord* stage) {
    discard(job, *stage, stale.at(stage->plan.id));
    stage->outdated = false;
  });
  context_.scheduler.notify_changed_jobs();
  context_.triggers.note_work();
  shuffles_.refresh(job);
}

/// The stage's tasks, but for those whose result the driver has. What nobody needs any more is not made again.
void Rollback::discard(JobRecord& job, StageRecord& stage, const std::string& why) {
  const bool writes = stage.plan.output == plan::OutputKind::shuffle;
  if (stage.dropped || (!writes && !stage.action)) return;
  std::uint32_t tasks = 0, next = stage.first_attempt;
  for (std::uint32_t index = 0; index < stage.info->tasks.size(); ++index) {
    const schedulers::TaskInfo& task = stage.info->tasks[index];
    next = std::max(next, task.attempts);
    if (task.state != TaskState::finished && task.state != TaskState::running) continue;
    ++tasks;
    if (task.state == TaskState::running) {
      stop({&job, &stage, index}, why);
    } else if (!writes) {
      discard_result(job, stage, index);
    }
  }
  if (writes && tasks > 0) shuffles_.discard(job, stage);
  if (next == stage.first_attempt) return;  // none was launched since the last time
  stage.first_attempt = next;
  for (schedulers::TaskInfo& task : stage.info->tasks) task.attempts = next;
  if (tasks > 0) context_.record_reason(job.spec.job, stage.plan.id, why);
  context_.emit(StageRolledBack{job.spec.job, stage.plan.id, tasks, why});
}

/// In one attempt, or two.
void Rollback::stop(const TaskRef& task, const std::string& why) {
  const NodeId node = task.node();
  if (task.runs_twice()) stop_attempt(task.other(), why);
  stop_attempt(task, why);
  context_.scheduler.notify({schedulers::Notice::Kind::task_preempted, task.job->spec.job, task.stage->plan.id, task.index, node});
}

void Rollback::stop_attempt(const TaskRef& attempt, const std::string& why) {
  attempts_.kill(attempt, KillCause::lost_race, why);
  attempts_.vacate(attempt, &StageAttempts::killed);
  attempts_.give_up(attempt);
}

void Rollback::discard_result(JobRecord& job, StageRecord& stage, std::uint32_t index) {
  job.actions.at(*stage.action).bytes -= stage.results.at(index).size();
  stage.results[index] = {};
  context_.view.set_task(*job.info, *stage.info, index, TaskState::pending);
  job.open.insert(stage.plan.id);
}

}  // namespace weft::master

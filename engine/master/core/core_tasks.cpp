// Attempts that have finished or failed.
#include <algorithm>

#include <fmt/format.h>

#include "engine/master/core/bad_record_check.hpp"
#include "engine/master/core/coordinator.hpp"
#include "engine/master/core/counters.hpp"

namespace weft::master {

Result<void> Core::Impl::on(TaskFinished event) {
  WEFT_ASSIGN(TaskRef task, attempts_.running(event.attempt, event.node));
  context_.view.mutable_node(event.node).last_heard = context_.now();
  const plan::Stage& plan = task.stage->plan;
  const bool whole = plan.output != plan::OutputKind::shuffle || event.output.size() == plan.partitions;
  attempts_.vacate(task, whole ? &StageAttempts::finished : &StageAttempts::failed);
  if (!whole) {
    failures_.count(task, FailureKind::environment,
                    fmt::format("it reported {} output partitions instead of {}", event.output.size(), plan.partitions));
    return {};
  }
  if (task.runs_twice()) {
    attempts_.win(task);
    task.speculative = false;
  }
  finish(task, event);
  context_.scheduler.notify({schedulers::Notice::Kind::task_finished, task.job->spec.job, plan.id, task.index, event.node});
  if (!context_.jobs.failing(task.job->spec.job)) after_finish(task, event.node);
  return {};
}

/// Records what the winning attempt did and made.
void Core::Impl::finish(const TaskRef& task, TaskFinished& event) {
  StageRecord& stage = *task.stage;
  schedulers::TaskInfo& info = task.info();
  info.ended = context_.now();
  const Time took = stage.info->worked(info.launched, info.ended);
  stage.devices.ended(event.device, event.node, took);
  if (!event.device) {  // whose speed is not the node's
    stragglers_.note_pace(*stage.info, event.node, took);
    speeds_.note(*stage.info, stage.recent, event.node, took, event.input_bytes);
  }
  health_.note_success(event.node);
  if (info.avoid && info.failures > 0) health_.note_failure(*info.avoid);  // what failed there went well here
  info.avoid.reset();
  keep(task, event, took);
}

/// What of a finished task lasts: its figures, its output or result.
void Core::Impl::keep(const TaskRef& task, TaskFinished& event, Time took) {
  StageRecord& stage = *task.stage;
  stage.info->observed_total += took;
  ++stage.info->observed_count;
  stage.info->input_bytes += event.input_bytes;
  task.info().input_bytes = event.input_bytes;
  add_counters(task, event, took);
  const bool writes = stage.plan.output == plan::OutputKind::shuffle;
  if (writes) store_output(task, event);
  context_.view.set_task(*task.job->info, *stage.info, task.index, schedulers::TaskState::finished);
  if (auto error = too_many_bad_records(*task.job, stage)) return context_.jobs.fail_later(*task.job, std::move(*error));
  if (!writes) store_result(task, std::move(event.result));
}

/// What the end of a task leads to in a job that goes on.
void Core::Impl::after_finish(const TaskRef& task, NodeId node) {
  JobRecord& job = *task.job;
  StageRecord& stage = *task.stage;
  const bool writes = stage.plan.output == plan::OutputKind::shuffle;
  if (writes && stage.released && !stage.active) {  // it ran on when its shuffle had been given up
    shuffles_.lose_output(job, stage, task.index);
    context_.emit(ReleaseShuffle{node, job.spec.job, ShuffleId(stage.plan.id.value())});
    return;
  }
  stragglers_.watch(job.spec.job, *stage.info);
  if (writes) {
    replicas_.replicate(job, stage, task.index);
    preplacement_.map_finished(job, stage, task.index, decisions_);
  }
  rounds_.read(job, stage, task.index);
  if (writes) rounds_.resize(job, stage);
  if (stage.info->complete()) {
    shuffles_.complete(job, stage);
    finish_actions(job);
  } else if (writes && slow_start_.on(job) && stage.info->finished == slow_start_.threshold(job, *stage.info)) {
    shuffles_.refresh(job);
  }
}

void Core::Impl::add_counters(const TaskRef& task, const TaskFinished& event, Time took) {
  if (task.stage->counted[task.index]) return;
  task.stage->counted[task.index] = true;
  JobRecord& job = *task.job;
  master::add_counters(job.counters, event.counters);
  std::uint64_t shuffled = 0;
  for (const auto& partition : event.output) {
    shuffled += partition.bytes;
    task.stage->records_written += partition.records;
  }
  task.stage->records_read += event.input_records;
  task.stage->input_bytes += event.input_bytes;
  task.stage->shuffle_bytes += shuffled;
  StageUsage& usage = task.stage->usage;
  usage.phases += runtime::phases_of(event.usage, event.shuffle_times);
  usage.cpu += event.usage.cpu;
  usage.peak_memory = std::max(usage.peak_memory, event.usage.peak_memory);
  add(usage.bad_records, event.usage.bad_records);
  count_source(*task.stage, task.index, event);
  TaskFigures<QuantileSketch>& sketches = task.stage->sketches;
  sketches.nanoseconds.add(static_cast<std::uint64_t>(std::max(took, Time(0)).count()));
  sketches.input_bytes.add(event.input_bytes);
  sketches.shuffle_read_bytes.add(event.usage.shuffle_read_bytes);
  sketches.shuffle_bytes.add(shuffled);
  // What a task that wrote a file returns is the file's name.
  sketches.output_bytes.add(std::max<std::uint64_t>(event.usage.output_bytes, event.result.size()));
  sketches.spilled_bytes.add(event.usage.spilled_bytes);
  job.input_bytes += event.input_bytes;
  job.input_records += event.input_records;
  job.shuffle_bytes += shuffled;
}

void Core::Impl::store_output(const TaskRef& task, const TaskFinished& event) {
  schedulers::StageInfo& info = *task.stage->info;
  sizes_.clear();
  for (const auto& partition : event.output) sizes_.push_back(partition.bytes);
  info.output.add(task.index, event.node, sizes_);
  task.stage->locations.wrote(task.index, shuffle::written_of(event.output));
  if (info.sample_histogram.empty() && event.sample_histogram.size() == event.output.size())
    info.sample_histogram = event.sample_histogram;
  shuffles_.extend_tables(*task.job, *task.stage, task.index);
}

void Core::Impl::store_result(const TaskRef& task, Buffer result) {
  auto action = task.stage->action ? task.job->actions.find(*task.stage->action) : task.job->actions.end();
  if (action == task.job->actions.end()) return;
  action->second.bytes += result.size();
  if (const std::uint64_t most = context_.options.max_result_bytes; action->second.bytes > most) {
    return context_.jobs.fail_later(
        *task.job,
        Error(Code::resource_exhausted,
              fmt::format("{}: its results exceed {} bytes; write them to files, or ask for fewer", task.stage->title(), most)));
  }
  task.stage->results.resize(task.stage->info->tasks.size());  // at the first
  task.stage->results[task.index] = std::move(result);
}

Result<void> Core::Impl::on(TaskFailed event) {
  auto found = attempts_.running(event.attempt, event.node);
  if (!found) {
    if (event.kind == FailureKind::killed && found.error().code() == Code::cancelled) return {};  // as we requested
    return fail(std::move(found).error());
  }
  const TaskRef task = *found;
  context_.view.mutable_node(event.node).last_heard = context_.now();
  ++task.stage->info->failed_attempts;
  if (event.kind == FailureKind::crashed && event.device)
    task.stage->info->without_device.insert(task.index);  // the other function takes over
  attempts_.vacate(task, event.kind == FailureKind::killed ? &StageAttempts::killed : &StageAttempts::failed);
  if (!task.runs_twice()) {
    task.info().ended = context_.now();
    context_.scheduler.notify(
        {schedulers::Notice::Kind::task_failed, task.job->spec.job, task.stage->plan.id, task.index, event.node});
  }
  failures_.failed(task, event.kind, std::move(event.message), event.fetch);
  return {};
}

}  // namespace weft::master

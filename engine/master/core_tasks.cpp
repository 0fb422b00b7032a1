// Attempts: how they end, what is counted, fencing.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// Times a task may be lost through no fault of its own (workers gone, inputs gone) before the job is given up.
constexpr std::uint16_t kMaxLosses = 20;
/// Fetch failures of a live node's outputs of a shuffle before all of them are taken for lost and the node is excluded.
constexpr std::uint32_t kMaxFetchFailures = 4;

std::string message_or(std::string message, FailureKind kind) {
  return message.empty() ? std::string(runtime::words_of(kind)) : std::move(message);
}

}  // namespace

Result<TaskRef> Core::Impl::running_task(const AttemptId& attempt, NodeId node) {
  WEFT_ASSIGN(JobRecord * job, running_job(attempt.task.job));
  auto stage = job->stages.find(attempt.task.stage);
  if (stage == job->stages.end() || attempt.task.index >= stage->second.info->tasks.size()) {
    return fail(Code::not_found, fmt::format("there is no {}", to_string(attempt.task)));
  }
  const TaskRef ref{job, &stage->second, attempt.task.index};
  const schedulers::TaskInfo& task = ref.info();
  if (attempt.attempt >= task.attempts) return fail(Code::not_found, fmt::format("{} was never started", to_string(attempt)));
  if (task.state == schedulers::TaskState::running) {
    if (task.attempt() == attempt.attempt && task.node == node) return ref;
    const TaskRef second{ref.job, ref.stage, ref.index, true};
    if (ref.races() && second.attempt() == attempt && second.node() == node) return second;
    return fail(Code::cancelled,
                fmt::format("{} is fenced: attempt {} runs on {}", to_string(attempt), task.attempt(), node_name(task.node)));
  }
  return fail(Code::cancelled, fmt::format("{} is fenced: it is not running any more", to_string(attempt)));
}

TaskRef Core::Impl::ref_of(const AttemptId& running) {
  JobRecord& job = jobs_.at(running.task.job);
  TaskRef task{&job, &job.stages.at(running.task.stage), running.task.index};
  task.second = task.info().attempt() != running.attempt;
  return task;
}

void Core::Impl::release(const TaskRef& task) {
  --running_;
  ++changes_;
  if (!task.stage->info->inputs_complete) --early_;
  state_.vacate(task.node(), task.attempt(), *task.job->info, task.stage->info->demand);
}

void Core::Impl::vacate(const TaskRef& task) {
  release(task);
  trigger_node(task.node());
}

Result<void> Core::Impl::on(TaskFinished event) {
  WEFT_ASSIGN(TaskRef task, running_task(event.attempt, event.node));
  state_.mutable_node(event.node).last_heard = state_.now();
  StageRecord& stage = *task.stage;
  const bool writes = stage.plan.output == plan::OutputKind::shuffle;
  if (writes && event.output.size() != stage.plan.partitions) {
    vacate(task);
    count_failure(task, FailureKind::environment,
                  fmt::format("it reported {} output partitions instead of {}", event.output.size(), stage.plan.partitions));
    return {};
  }
  vacate(task);
  if (task.races()) {
    win_race(task);
    task.second = false;
  }
  schedulers::TaskInfo& info = task.info();
  info.ended = state_.now();
  note_pace(stage, event.node, info.ended - info.launched);
  stage.info->observed_total += info.ended - info.launched;
  ++stage.info->observed_count;
  stage.info->input_bytes += event.input_bytes;
  info.input_bytes = event.input_bytes;
  node_failures_.erase(event.node);
  if (info.avoid && info.failures > 0) node_failed(*info.avoid);  // what failed there went well here
  info.avoid.reset();
  add_counters(task, event);
  if (writes) store_output(task, event);
  state_.set_task(*task.job->info, *stage.info, task.index, schedulers::TaskState::finished);
  if (!writes) store_result(task, std::move(event.result));
  notify({schedulers::Notice::Kind::task_finished, task.job->spec.job, stage.plan.id, task.index, event.node});
  if (doomed_.contains(task.job->spec.job)) return {};
  if (writes && stage.released && !stage.active) {  // it ran on when its shuffle had been given up
    lose_output(*task.job, stage, task.index);
    emit(ReleaseShuffle{event.node, task.job->spec.job, ShuffleId(stage.plan.id.value())});
    return {};
  }
  watch_stage(*task.job, stage);
  if (writes) copy_output(*task.job, stage, task.index);
  if (writes) preplace_readers(*task.job, stage, task);
  if (units_.limited()) read_units(*task.job, stage, task.index);
  if (writes) resize_units(*task.job, stage);
  if (stage.info->complete()) {
    stage_complete(*task.job, stage);
  } else if (writes && options_.slow_start < 1 && stage.info->finished == start_threshold(stage)) {
    refresh(*task.job);
  }
  return {};
}

void Core::Impl::add_counters(const TaskRef& task, const TaskFinished& event) {
  if (task.stage->counted[task.index]) return;
  task.stage->counted[task.index] = true;
  JobRecord& job = *task.job;
  for (const auto& [name, value] : event.counters) {
    auto& sum = job.counters[name];
    if (__builtin_add_overflow(sum, value, &sum))
      sum = value < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  std::uint64_t shuffled = 0;
  for (const auto& partition : event.output) shuffled += partition.bytes;
  task.stage->input_bytes += event.input_bytes;
  task.stage->shuffle_bytes += shuffled;
  job.input_bytes += event.input_bytes;
  job.input_records += event.input_records;
  job.shuffle_bytes += shuffled;
}

void Core::Impl::store_output(const TaskRef& task, const TaskFinished& event) {
  sizes_.clear();
  for (const auto& partition : event.output) sizes_.push_back(partition.bytes);
  task.stage->info->output.add(task.index, event.node, sizes_);
  if (task.stage->info->sample_histogram.empty() && event.sample_histogram.size() == event.output.size())
    task.stage->info->sample_histogram = event.sample_histogram;
  if (options_.slow_start < 1) extend_tables(*task.job, *task.stage, task);
}

void Core::Impl::store_result(const TaskRef& task, Buffer result) {
  auto action = task.stage->action ? task.job->actions.find(*task.stage->action) : task.job->actions.end();
  if (action == task.job->actions.end()) return;
  action->second.bytes += result.size();
  if (action->second.bytes > options_.max_result_bytes) {
    return doom(*task.job, Error(Code::resource_exhausted,
                                 fmt::format("{}: its results exceed {} bytes; write them to files, or ask for fewer",
                                             task.stage->title(), options_.max_result_bytes)));
  }
  task.stage->results[task.index] = std::move(result);
}

Result<void> Core::Impl::on(TaskFailed event) {
  auto found = running_task(event.attempt, event.node);
  if (!found) {
    if (event.kind == FailureKind::killed && found.error().code() == Code::cancelled) return {};  // as we asked
    return fail(std::move(found).error());
  }
  const TaskRef task = *found;
  state_.mutable_node(event.node).last_heard = state_.now();
  ++task.stage->info->failed_attempts;
  vacate(task);
  if (!task.races()) {
    task.info().ended = state_.now();
    notify({schedulers::Notice::Kind::task_failed, task.job->spec.job, task.stage->plan.id, task.index, event.node});
  }
  std::string message = message_or(std::move(event.message), event.kind);
  if (event.kind == FailureKind::fetch_failed && event.fetch) {
    fetch_failed(task, *event.fetch, message);
  } else if (event.kind == FailureKind::killed) {
    // Stopped for another's sake (its executor was killed when a preempted task did not stop): however often, not the task's fault.
    record_reason(task.job->spec.job, task.stage->plan.id, message);
    requeue(task, std::nullopt);
  } else {
    count_failure(task, event.kind, std::move(message));
  }
  return {};
}

/// Of an attempt whose node was vacated. Its task waits again, unless another attempt goes on.
void Core::Impl::requeue(const TaskRef& task, std::optional<NodeId> avoid) {
  schedulers::TaskInfo& info = task.info();
  if (avoid && !another_node(*task.stage->info, *avoid)) avoid.reset();
  info.avoid = avoid;
  give_up_attempt(task);
  trigger_work();
}

void Core::Impl::count_failure(const TaskRef& task, FailureKind kind, std::string message) {
  schedulers::TaskInfo& info = task.info();
  const NodeId node = task.node();
  const std::string where = node_name(node);
  ++info.failures;
  if (kind == FailureKind::environment) node_failed(node);
  requeue(task, node);
  const std::uint32_t allowed = task.job->spec.max_attempts;
  if (!runtime::is_final(kind) && info.failures < allowed) return;
  Error error(code_of(kind), std::move(message));
  if (runtime::is_final(kind)) {
    return doom(*task.job, std::move(error).wrap(fmt::format("{} task {} on {}", task.stage->title(), task.index, where)));
  }
  doom(*task.job, std::move(error).wrap(
                      fmt::format("{} task {} failed {}; last on {}", task.stage->title(), task.index,
                                  info.failures == 1 ? std::string("once") : fmt::format("{} times", info.failures), where)));
}

void Core::Impl::lose_attempt(const TaskRef& task, std::string why) {
  const std::string where = node_name(task.node());
  requeue(task, std::nullopt);
  count_loss(task, where, std::move(why));
}

void Core::Impl::count_loss(const TaskRef& task, const std::string& where, std::string why) {
  if (++task.info().losses < kMaxLosses) return;
  doom(*task.job,
       Error(Code::unavailable, std::move(why))
           .wrap(fmt::format("{} task {} was lost {} times; last on {}", task.stage->title(), task.index, kMaxLosses, where)));
}

void Core::Impl::fetch_failed(const TaskRef& task, const shuffle::FetchFailure& fetch, const std::string& message) {
  JobRecord& job = *task.job;
  const std::string where = node_name(task.node());
  requeue(task, std::nullopt);
  auto found = job.stages.find(StageId(fetch.shuffle.value()));
  const bool there = found != job.stages.end() && found->second.plan.output == plan::OutputKind::shuffle &&
                     !found->second.dropped && fetch.map < found->second.info->tasks.size();
  if (!there) return count_loss(task, where, message);
  StageRecord& source = found->second;
  const std::string was = where_it_was(fetch, message);
  const bool news = lose_fetched(job, source, fetch, was);
  const std::string why = fmt::format("{}; {}", was, where_it_is(source, fetch));
  record_reason(job.spec.job, task.stage->plan.id, why);
  count_loss(task, where, why);
  if (news) refresh(job);
}

/// An output that a reader could not have. False when that was known already.
bool Core::Impl::lose_fetched(JobRecord& job, StageRecord& source, const shuffle::FetchFailure& fetch, const std::string& why) {
  schedulers::TaskInfo& map = source.info->tasks[fetch.map];
  if (map.state != schedulers::TaskState::finished || map.node != fetch.node || map.attempt() != fetch.map_attempt) return false;
  if (use_copy(job, source, fetch.map, why)) {
    tell_moved(job, source);
  } else {
    if (another_node(*source.info, fetch.node)) map.avoid = fetch.node;
    lose_output(job, source, fetch.map);
  }
  if (++source.fetch_failures[fetch.node] < kMaxFetchFailures) return true;
  lose_outputs_on(job, source, fetch.node, why);
  source.fetch_failures.erase(fetch.node);
  exclude(fetch.node);  // it runs tasks, but nobody can read what they wrote
  return true;
}

}  // namespace weft::master

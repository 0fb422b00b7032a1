#include "engine/master/core/failures.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

/// Fetch failures of a live node's outputs of a shuffle before all of them are taken for lost and the node is excluded.
constexpr std::uint32_t kMaxFetchFailures = 4;
constexpr Time kFirstPause = std::chrono::milliseconds(250), kLongestPause = std::chrono::seconds(16);

}  // namespace

void Failures::failed(const TaskRef& task, FailureKind kind, std::string message,
                      const std::optional<shuffle::FetchFailure>& fetch) {
  if (message.empty()) message = runtime::words_of(kind);
  if (kind == FailureKind::fetch_failed && fetch) return fetch_failed(task, *fetch, message);
  if (kind != FailureKind::killed) return count(task, kind, std::move(message));
  // Stopped for another's sake (its executor was killed when a preempted task did not stop): however often, not the task's fault.
  context_.record_reason(task.job->spec.job, task.stage->plan.id, message);
  requeue(task, std::nullopt);
}

void Failures::requeue(const TaskRef& task, std::optional<NodeId> avoid) {
  if (avoid && !health_.another_node(*task.stage->info, *avoid)) avoid.reset();
  attempts_.requeue(task, avoid);
}

void Failures::count(const TaskRef& task, FailureKind kind, std::string message) {
  schedulers::TaskInfo& info = task.info();
  const NodeId node = task.node();
  const std::string where = context_.node_name(node);
  const bool alone = !health_.another_node(*task.stage->info, node);
  if (kind == FailureKind::environment) {
    health_.note_failure(node);
    if (health_.lost_lately()) return count_in_trouble(task, where, std::move(message));
    // The node's fault, until that is excluded. Not for ever: a job that runs nowhere would spoil all nodes for the others.
    if (info.losses < task.job->spec.options.max_attempts && health_.good_node(*task.stage->info, node)) {
      requeue(task, node);
      return count_loss(task, where, std::move(message));
    }
  }
  ++info.failures;
  requeue(task, node);
  if (kind == FailureKind::environment && alone) pause(task, "no other worker can take it");
  if (!runtime::is_final(kind) && info.failures < task.job->spec.options.max_attempts) return;
  std::string what = fmt::format("{} task {} on {}", task.stage->title(), task.index, where);
  if (!runtime::is_final(kind)) {
    const std::string times = info.failures == 1 ? std::string("once") : fmt::format("{} times", info.failures);
    what = fmt::format("{} task {} failed {}; last on {}", task.stage->title(), task.index, times, where);
  }
  context_.jobs.fail_later(*task.job, Error(runtime::code_of(kind), std::move(message)).wrap(what));
}

void Failures::lose(const TaskRef& task, std::string why) {
  const std::string where = context_.node_name(task.node());
  requeue(task, std::nullopt);
  count_loss(task, where, std::move(why));
}

/// While a node was lost, one fault may be the other's consequence, and the nodes that are left may be few: this, too, can pass.
void Failures::count_in_trouble(const TaskRef& task, const std::string& where, std::string message) {
  requeue(task, task.node());
  count_loss(task, where, std::move(message));
  pause(task, "a worker was lost within the last minute");
}

void Failures::pause(const TaskRef& task, std::string_view why) {
  schedulers::TaskInfo& info = task.info();
  if (info.state != schedulers::TaskState::pending) return;
  Time wait = kFirstPause;
  for (int failures = info.failures + info.losses; failures > 1 && wait < kLongestPause; --failures) wait *= 4;
  wait = std::min(wait, kLongestPause);
  context_.view.set_task(*task.job->info, *task.stage->info, task.index, schedulers::TaskState::blocked);
  context_.timers.set({.purpose = Timers::Purpose::retry, .at = context_.now() + wait, .task = task.id()});
  paused_.insert(task.id());
  context_.record_reason(task.job->spec.job, task.stage->plan.id,
                         fmt::format("task {} failed, and {}: its next attempt waits {}", task.index, why, human_duration(wait)));
}

void Failures::retry_paused(const TaskId& id) {
  if (paused_.erase(id) == 0) return;
  const auto job = context_.jobs.running().find(id.job);
  if (job == context_.jobs.running().end()) return;
  const auto stage = job->second.stages.find(id.stage);
  if (stage == job->second.stages.end() || id.index >= stage->second.info->tasks.size()) return;
  schedulers::StageInfo& info = *stage->second.info;
  if (info.tasks[id.index].state != schedulers::TaskState::blocked) return;
  context_.view.set_task(*job->second.info, info, id.index, schedulers::TaskState::pending);
  health_.lift_avoidance(info);  // the other nodes may have gone meanwhile
  context_.triggers.note_work();
}

void Failures::retry_paused() {
  const std::set<TaskId> paused = paused_;
  for (const TaskId& task : paused) retry_paused(task);
}

void Failures::count_loss(const TaskRef& task, const std::string& where, std::string why) {
  if (++task.info().losses < kMaxLosses) return;
  const std::string what =
      fmt::format("{} task {} was lost {} times; last on {}", task.stage->title(), task.index, kMaxLosses, where);
  context_.jobs.fail_later(*task.job, Error(Code::unavailable, std::move(why)).wrap(what));
}

void Failures::fetch_failed(const TaskRef& task, const shuffle::FetchFailure& fetch, const std::string& message) {
  JobRecord& job = *task.job;
  const std::string where = context_.node_name(task.node());
  requeue(task, std::nullopt);
  auto found = job.stages.find(StageId(fetch.shuffle.value()));
  const bool there = found != job.stages.end() && found->second.plan.output == plan::OutputKind::shuffle &&
                     !found->second.dropped && fetch.map < found->second.info->tasks.size();
  if (!there) return count_loss(task, where, message);
  StageRecord& source = found->second;
  const std::string was = health_.where_it_was(fetch, message);
  const bool unknown = lose_fetched(job, source, fetch, was);
  const std::string why = fmt::format("{}; {}", was, where_it_is(source, fetch));
  context_.record_reason(job.spec.job, task.stage->plan.id, why);
  count_loss(task, where, why);
  if (unknown) shuffles_.refresh(job);  // it waits for the output, if that has no copy
}

/// An output that a reader could not have. False when that was known already.
bool Failures::lose_fetched(JobRecord& job, StageRecord& source, const shuffle::FetchFailure& fetch, const std::string& why) {
  const schedulers::TaskInfo& map = source.info->tasks[fetch.map];
  if (map.state != schedulers::TaskState::finished || map.node != fetch.node || map.attempt() != fetch.map_attempt) return false;
  shuffles_.lose_or_move_output(job, source, fetch.map, why);
  if (++source.fetch_failures[fetch.node] < kMaxFetchFailures) return true;
  shuffles_.lose_outputs_on(job, source, fetch.node, why);
  source.fetch_failures.erase(fetch.node);
  health_.exclude(fetch.node);  // it runs tasks, but nobody can read what they wrote
  return true;
}

/// The state of the output afterwards.
std::string Failures::where_it_is(const StageRecord& source, const shuffle::FetchFailure& fetch) const {
  const schedulers::TaskInfo& map = source.info->tasks[fetch.map];
  if (map.state != schedulers::TaskState::finished) return "the map runs again";
  if (map.attempt() != fetch.map_attempt) return fmt::format("the map has run again, on {}", context_.node_name(map.node));
  return fmt::format("its copy on {} is used", context_.node_name(map.node));
}

}  // namespace weft::master

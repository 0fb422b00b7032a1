// What a restarted master knows of its predecessor's nodes and jobs, and what workers say that come back to it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/master/core/coordinator.hpp"
#include "runtime/protocol/commands.hpp"

namespace weft::master {

namespace {

/// How many attempts at a task a master may have launched that its successor does not know of: those of the moment between a launch
/// and its record on the disk, or all that a master began which was cut off. They may have failed, been lost, and a few
/// were preempted or ran speculatively. Numbers of attempts are never given twice, so the successor leaves out as many.
std::uint32_t unrecorded_attempts(const JobOptions& options) { return kMaxLosses + options.max_attempts + 8; }
/// How far the number of an attempt that a worker runs may be beyond those that are known of its task.
constexpr std::uint64_t kMostAhead = UINT16_MAX;
/// For workers to come back, where silent ones are never lost otherwise.
constexpr Time kReturn = std::chrono::seconds(10);

/// Map outputs in a worker's store, by shuffle: for each map, the attempts that wrote one.
using HeldByShuffle = std::map<std::pair<JobId, ShuffleId>, std::multimap<std::uint32_t, std::uint32_t>>;

HeldByShuffle by_shuffle(const std::vector<runtime::protocol::HeldOutput>& outputs) {
  HeldByShuffle held;
  for (const auto& output : outputs) held[{output.job, output.shuffle}].emplace(output.map, output.attempt);
  return held;
}

bool has(const std::multimap<std::uint32_t, std::uint32_t>& held, std::uint32_t map, std::uint32_t attempt) {
  const auto [begin, end] = held.equal_range(map);
  return std::any_of(begin, end, [attempt](const auto& output) { return output.second == attempt; });
}

ShuffleId shuffle_of(const StageRecord& stage) { return ShuffleId(stage.plan.id.value()); }
bool writes_shuffle(const StageRecord& stage) { return stage.plan.output == plan::OutputKind::shuffle; }

}  // namespace

void Core::Impl::restore(Time now, Restored restored, std::vector<Command>& commands) {
  context_.view.set_now(now);
  context_.commands.open(commands);
  for (JobStatus& job : restored.ended) context_.jobs.remember(std::move(job));
  for (RestoredNode& node : restored.nodes) restore_node(node);
  for (RestoredJob& job : restored.jobs) restore_job(job, restored.profiles);
  oversized_.review();
  context_.commands.close();
}

std::optional<StageShape> Core::Impl::shape(JobId job, StageId stage) const {
  const auto running = context_.jobs.running().find(job);
  if (running == context_.jobs.running().end()) return std::nullopt;
  const auto found = running->second.stages.find(stage);
  if (found == running->second.stages.end()) return std::nullopt;
  return StageShape{stage, found->second.info->bounds, found->second.splits, found->second.first_attempt};
}

void Core::Impl::restore_node(RestoredNode& from) {
  WorkerJoined& joined = from.joined;
  if (health_.joined(joined.node)) return;
  health_.join(joined.node);
  schedulers::NodeInfo node = info_of(joined);
  node.joined = from.at;
  node.last_heard = context_.now();
  node.away = true;
  context_.view.add_node(std::move(node), joined.host, joined.rack, joined.rack_uplink);
  context_.timers.set({Timers::Purpose::heartbeat, context_.now() + silence_of(joined.node), joined.node});
  replicas_.node_joined(joined.node);
  oversized_.node_joined(joined.capacity);
  rounds_.node_joined(joined.node, joined.prefetch_bytes);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_joined, .node = joined.node});
}

/// How long nothing may be heard of the node before it is lost; 0: for ever.
Time Core::Impl::silence_of(NodeId node) const {
  const Time timeout = context_.options.heartbeat_timeout;
  return timeout == Time(0) && context_.view.node(node)->away ? kReturn : timeout;
}

/// The plan first, then what was decided of it, then what ended, and only then what still runs: stages that are complete by then
/// make others ready.
void Core::Impl::restore_job(RestoredJob& from, const std::function<void(PlanExtended&)>& profiles) {
  schedulers::JobInfo info = info_of(from.submission);
  info.submitted = from.submitted;
  info.slow_start = from.slow_start;
  JobRecord& job = add_job(std::move(from.submission), std::move(info));
  job.first_attempt = from.restarts * unrecorded_attempts(job.spec.options);
  for (plan::PlanPart& part : from.parts) {
    PlanExtended event{job.spec.job, std::move(part)};
    if (profiles) profiles(event);
    extend(job, std::move(event));
  }
  for (const StageShape& shape : from.shapes) restore_shape(job, shape);
  for (RestoredEnd& end : from.finished) restore_end(job, end);
  for (const RestoredEnd& end : from.finished) note_attempt(job, end.event.attempt, end.next, end.restarts);
  for (const RestoredLaunch& launch : from.launched) note_attempt(job, launch.attempt, launch.next, launch.restarts);
  for (const auto& [task, failures] : from.failures) {
    if (schedulers::TaskInfo* const known = note_attempt(job, {task, failures.attempt}, failures.next, failures.restarts))
      known->failures = static_cast<std::uint16_t>(std::min<std::uint32_t>(failures.count, UINT16_MAX));
  }
  for (auto& [id, stage] : job.stages) {  // before stages that are complete make others ready, which are shaped then
    const std::uint32_t first = job.first_attempt + (stage.shaped ? stage.first_attempt : 0);
    for (schedulers::TaskInfo& task : stage.info->tasks) skip_attempts(task, first);
  }
  for (auto& [id, stage] : job.stages)
    if (stage.info->complete() && !stage.info->tasks.empty()) shuffles_.complete(job, stage);
  shuffles_.refresh(job);
  finish_actions(job);
  rollback_.apply();
  for (const RestoredLaunch& launch : from.launched) {
    if (context_.view.node(launch.node) != nullptr) adopt(launch.attempt, launch.node, launch.at);
  }
  restore_figures(job, from);
}

/// There was that attempt, and `next` was the next one at its task, when a master recorded it that was `restarts` ago: the numbers
/// below, and those that may have been given since, are not given again. Null when there is no such task.
schedulers::TaskInfo* Core::Impl::note_attempt(JobRecord& job, const AttemptId& attempt, std::uint32_t next,
                                               std::uint32_t restarts) {
  const auto stage = job.stages.find(attempt.task.stage);
  if (stage == job.stages.end() || attempt.task.index >= stage->second.info->tasks.size()) return nullptr;
  schedulers::TaskInfo& task = stage->second.info->tasks[attempt.task.index];
  stage->second.begun[attempt.task.index] = true;
  skip_attempts(task, std::max(attempt.attempt + 1, next) + restarts * unrecorded_attempts(job.spec.options));
  return &task;
}

/// The running or winning attempt, if there is one, stays what it is: no more are skipped than can come after it.
void Core::Impl::skip_attempts(schedulers::TaskInfo& task, std::uint32_t first) {
  std::uint32_t more = std::max(task.attempts, first) - task.attempts;
  if (task.state != schedulers::TaskState::pending) more = std::min<std::uint32_t>(more, UINT16_MAX - task.later_attempts);
  task.attempts += more;
  task.later_attempts = static_cast<std::uint16_t>(std::min<std::uint32_t>(task.later_attempts + more, UINT16_MAX));
}

void Core::Impl::restore_shape(JobRecord& job, const StageShape& shape) {
  const auto found = job.stages.find(shape.stage);
  if (found == job.stages.end()) return;
  found->second.first_attempt = shape.first;
  if (found->second.shaped) return;
  shuffles_.restore_shape(found->second, shape.bounds, shape.splits);
}

void Core::Impl::restore_end(JobRecord& job, RestoredEnd& end) {
  const AttemptId& attempt = end.event.attempt;
  const auto found = job.stages.find(attempt.task.stage);
  if (found == job.stages.end() || attempt.task.index >= found->second.info->tasks.size()) return;
  StageRecord& stage = found->second;
  if (writes_shuffle(stage) && end.event.output.size() != stage.plan.partitions) return;
  const TaskRef task{&job, &stage, attempt.task.index};
  schedulers::TaskInfo& info = task.info();
  info.attempts = std::max(info.attempts, attempt.attempt + 1);
  info.later_attempts = static_cast<std::uint16_t>(info.attempts - 1 - attempt.attempt);
  const Time took = stage.info->worked(end.launched, end.ended);
  StageUsage& usage = stage.usage;
  usage.began = usage.began == Time(0) ? end.launched : std::min(usage.began, end.launched);
  const bool there = context_.view.node(end.event.node) != nullptr;
  // Its output was discarded, or went with its worker.
  if (attempt.attempt < stage.first_attempt || (writes_shuffle(stage) && !there)) {
    stage.outdated |= stage.plan.indeterminate;
    return add_counters(task, end.event, took);
  }
  if (there) job.nodes.insert(end.event.node);
  info.node = end.event.node;
  info.launched = end.launched;
  info.ended = end.ended;
  keep(task, end.event, took);
}

/// What only the last status tells.
void Core::Impl::restore_figures(JobRecord& job, RestoredJob& from) {
  job.lost_workers = std::move(from.last.lost_workers);
  job.workers_lost = from.last.workers_lost;
  for (const StageStatus& status : from.last.stages) {
    const auto found = job.stages.find(status.id);
    if (found == job.stages.end()) continue;
    StageRecord& stage = found->second;
    stage.info->failed_attempts = status.failed_attempts;
    stage.speculative = status.speculative;
    stage.speculative_won = status.speculative_won;
    stage.usage.accelerated = status.usage.accelerated;
    stage.usage.attempts = status.usage.attempts;
    stage.usage.ended = status.usage.ended;
  }
}

/// Whether an attempt of before this master reads what its task reads now. One whose inputs are not all there may have read outputs
/// of which this master knows nothing, and which will be others when they are made again.
bool Core::Impl::may_count(const JobRecord& job, const StageRecord& stage, const AttemptId& attempt) {
  if (!stage.shaped || attempt.attempt < stage.first_attempt) return false;
  const auto complete = [&](StageId input) { return job.stages.at(input).info->complete(); };
  return !stage.reads_indeterminate || std::all_of(stage.inputs.begin(), stage.inputs.end(), complete);
}

/// The attempt runs there, and its task in none other. False when that cannot be, or the attempt does not count. Whether it holds a
/// device, its worker says.
bool Core::Impl::adopt(const AttemptId& attempt, NodeId node, Time launched) {
  const auto running = context_.jobs.running().find(attempt.task.job);
  if (running == context_.jobs.running().end()) return false;
  JobRecord& job = running->second;
  const auto found = job.stages.find(attempt.task.stage);
  if (found == job.stages.end() || attempt.task.index >= found->second.info->tasks.size()) return false;
  schedulers::StageInfo& stage = *found->second.info;
  schedulers::TaskInfo& task = stage.tasks[attempt.task.index];
  if (task.state != schedulers::TaskState::pending || !may_count(job, found->second, attempt)) return false;
  const std::uint32_t attempts = std::max(task.attempts, attempt.attempt + 1), later = attempts - 1 - attempt.attempt;
  if (later > UINT16_MAX) return false;
  context_.view.set_task(*job.info, stage, attempt.task.index, schedulers::TaskState::running);
  task.attempts = attempts;
  task.later_attempts = static_cast<std::uint16_t>(later);
  task.node = node;
  task.launched = launched;
  StageUsage& usage = found->second.usage;
  if (usage.began == Time(0)) usage.began = launched;
  context_.view.occupy(node, attempt, *job.info, stage.demand);
  slow_start_.attempt_started(job, stage);
  job.nodes.insert(node);
  context_.scheduler.notify(
      {schedulers::Notice::Kind::task_launched, attempt.task.job, attempt.task.stage, attempt.task.index, node});
  stragglers_.watch(attempt.task.job, stage);
  return true;
}

Result<void> Core::Impl::on(const WorkerRejoined& event) {
  const schedulers::NodeInfo* known = context_.view.node(event.node);
  if (known == nullptr || !known->away)
    return fail(Code::not_found,
                fmt::format("node {} is not waited for; its worker must register as a new one", event.node.value()));
  context_.view.set_back(event.node);
  context_.view.mutable_node(event.node).last_heard = context_.now();
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_changed, .node = event.node});
  const std::set<AttemptId> running(event.running.begin(), event.running.end());
  give_back(event.node, running);
  for (const AttemptId& attempt : running) take_up(attempt, event.node);  // first: their outputs may be there already
  for (const AttemptId& attempt : event.with_device) hold_device(attempt, event.node);
  const HeldByShuffle held = by_shuffle(event.outputs);
  const std::multimap<std::uint32_t, std::uint32_t> nothing;
  for (auto& [id, job] : context_.jobs.running()) {
    bool lost = false;
    for (auto& [stage_id, stage] : job.stages) {
      if (!writes_shuffle(stage)) continue;
      const auto of_stage = held.find({id, shuffle_of(stage)});
      lost |= compare_outputs(job, stage, event.node, of_stage == held.end() ? nothing : of_stage->second);
    }
    if (lost) shuffles_.refresh(job);
  }
  for (const AttemptId& attempt : context_.view.node(event.node)->running) resend_locations(attempt, event.node);
  failures_.retry_paused();
  health_.lift_avoidance();
  all_back();
  context_.triggers.note_work();
  return {};
}

/// What had to wait for nodes that are away happens when there is none any more.
void Core::Impl::all_back() {
  const auto& nodes = context_.view.nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.second.away; })) replicas_.replicate_waiting();
}

/// Attempts that were taken to run there, and do not: their launches never arrived, or the master was started from an old record.
void Core::Impl::give_back(NodeId node, const std::set<AttemptId>& running) {
  const std::set<AttemptId> known = context_.view.node(node)->running;
  for (const AttemptId& attempt : known) {
    if (running.contains(attempt)) continue;
    const TaskRef task = attempts_.at(attempt);
    attempts_.vacate(task, &StageAttempts::lost);
    attempts_.requeue(task, std::nullopt);
  }
}

/// Where the outputs are that the attempt reads. Without slow start a reader takes a table for all there is: while an output is
/// missing it goes on with the one it has. Of a shuffle that was released, nobody would take the table back.
void Core::Impl::resend_locations(const AttemptId& attempt, NodeId node) {
  JobRecord& job = context_.jobs.at(attempt.task.job);
  for (StageId id : job.stages.at(attempt.task.stage).inputs) {
    StageRecord& input = job.stages.at(id);
    if (input.dropped || Shuffles::is_released(job, input)) continue;
    if (input.info->complete() || slow_start_.on(job)) shuffles_.send_locations(job, input, node);
  }
}

/// The worker runs that attempt, whose launch is not recorded. It goes on if its task waits for none other, and surely reads what
/// the task reads now: its master may have made other tasks of the same partitions, or have had an indeterminate input made again.
/// A number that no master can have given is not noted.
void Core::Impl::take_up(const AttemptId& attempt, NodeId node) {
  const auto found = context_.jobs.running().find(attempt.task.job);
  if (found == context_.jobs.running().end()) return;  // the worker ends the whole job
  if (context_.view.node(node)->running.contains(attempt)) return;
  const schedulers::TaskInfo* const task = context_.view.task(attempt.task);
  const bool possible = task == nullptr || attempt.attempt < task->attempts + kMostAhead;
  if (possible) note_attempt(found->second, attempt, 0, 0);
  const auto stage = found->second.stages.find(attempt.task.stage);
  const bool may_differ = stage != found->second.stages.end() && stage->second.reads_indeterminate;
  if (!possible || may_differ || !adopt(attempt, node, context_.now()))
    context_.emit(KillTask{node, attempt, KillCause::lost_race, "its task is done, or runs elsewhere"});
}

/// Nothing happens for an attempt that does not go on.
void Core::Impl::hold_device(const AttemptId& attempt, NodeId node) {
  if (!context_.view.node(node)->running.contains(attempt)) return;
  const TaskRef task = attempts_.at(attempt);
  context_.view.hold_device(node, attempt, *task.job->info, task.stage->info->demand);
  task.stage->devices.began_with_device();
}

/// Outputs that were on the node and are not any more, and replicas that are there; what is of no use goes. True when some are to
/// be made again.
bool Core::Impl::compare_outputs(JobRecord& job, StageRecord& stage, NodeId node,
                                 const std::multimap<std::uint32_t, std::uint32_t>& held) {
  bool lost = false, used = false;
  for (std::uint32_t map = 0; map < stage.info->tasks.size() && !stage.dropped; ++map) {
    const schedulers::TaskInfo& task = stage.info->tasks[map];
    if (task.state != schedulers::TaskState::finished) continue;
    const bool there = has(held, map, task.attempt());
    used |= there;
    if (task.node == node && !there) {
      shuffles_.lose_or_move_output(job, stage, map, fmt::format("worker {} came back without it", context_.node_name(node)));
      lost = true;
    } else if (task.node != node && there) {
      replicas_.found(job, stage, map, node);
    } else if (task.node == node) {
      replicas_.await(job, stage, map);  // until all nodes are back: one of them may have it
    }
  }
  if (held.empty()) return lost;
  const std::set<AttemptId>& running = context_.view.node(node)->running;  // or ended: the output counts when that is known
  for (const auto& [map, attempt] : held) used |= running.contains({{job.spec.job, stage.plan.id, map}, attempt});
  job.nodes.insert(node);
  stage.replicas.holders.insert(node);
  if (!used) context_.emit(ReleaseShuffle{node, job.spec.job, shuffle_of(stage)});
  return lost;
}

}  // namespace weft::master

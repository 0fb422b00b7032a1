#include "engine/master/core/job_reports.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/text.hpp"
#include "schedulers/prediction/size_prediction.hpp"

namespace weft::master {

namespace {

/// What is known of speculative attempts, in brackets.
std::string in_brackets(const JobExplanation& job) {
  std::vector<std::string> parts;
  if (job.speculating > 0) parts.push_back(fmt::format("{} in two attempts", job.speculating));
  if (job.straggling > 0)
    parts.push_back(fmt::format("{} much slower than others of the stage, until another worker has room for a speculative attempt",
                                job.straggling));
  return parts.empty() ? std::string() : fmt::format(" ({})", fmt::join(parts, "; "));
}

/// Whether there is room for one more task of this demand, in words.
std::string room_for(const schedulers::ClusterView& view, const schedulers::Resources& demand) {
  if (view.nodes().empty()) return "there is no worker";
  std::size_t large = 0, usable = 0, free = 0, reduced = 0, leaving = 0, away = 0;
  Time soonest = Time::max();
  for (const auto& [id, node] : view.nodes()) {
    if (!schedulers::fits(demand, {}, node.capacity)) {
      if (schedulers::fits(demand, {}, node.nominal)) ++reduced;
      continue;
    }
    ++large;
    if (node.leaving) ++leaving;
    if (node.away) ++away;
    if (node.excluded_until && !node.leaving && !node.away) soonest = std::min(soonest, *node.excluded_until);
    if (!node.usable()) continue;
    ++usable;
    if (schedulers::fits(demand, node.used, node.capacity)) ++free;
  }
  const std::string nodes = counted(view.nodes().size(), "worker");
  const std::string wanted = to_string(demand);
  if (large == 0 && reduced > 0)
    return fmt::format("no worker has {} at present: the capacity of {} is reduced", wanted, counted(reduced, "worker"));
  if (large == 0) return fmt::format("no worker is large enough for {}", wanted);
  if (usable == 0 && leaving == large) return fmt::format("every worker large enough for {} is leaving", wanted);
  if (usable == 0 && leaving + away == large)
    return fmt::format("no worker large enough for {} has come back since the master was started again", wanted);
  if (usable == 0)
    return fmt::format("every worker large enough for {} is excluded after repeated failures, the first for {} more", wanted,
                       human_duration(std::max(soonest - view.now(), Time(0))));
  std::string text = free == 0 ? fmt::format("no worker has {} free", wanted)
                               : fmt::format("{} of {} {} free", free, nodes, free == 1 ? "has " + wanted : "have " + wanted);
  const std::size_t absent = leaving + away;
  if (usable + absent < large) text += fmt::format("; {} excluded after repeated failures", large - usable - absent);
  if (leaving > 0) text += fmt::format("; {} leaving", leaving);
  if (away > 0) text += fmt::format("; {} not back since the master was started again", away);
  return text;
}

/// What was said last, of the stage or of the whole job.
const std::optional<schedulers::Reason>& why_held(const JobRecord& job, const StageRecord& stage) {
  const std::optional<schedulers::Reason>& of_stage = stage.info->held;
  const std::optional<schedulers::Reason>& of_job = job.info->held;
  return of_stage && (!of_job || of_stage->at >= of_job->at) ? of_stage : of_job;
}

WaitingTasks explain_held(const CoreContext& context, const JobRecord& job, const StageRecord& stage, std::uint32_t tasks) {
  WaitingTasks group{stage.plan.id, stage.plan.name, tasks, WaitingTasks::Why::held, room_for(context.view, stage.info->demand),
                     std::nullopt};
  const std::optional<schedulers::Reason>& held = why_held(job, stage);
  if (!held) return group;
  group.reason = fmt::format("{} ({})", held->text, group.reason);
  group.since = held->at;
  return group;
}

/// The stages that this one reads and that are not done, and how far they are.
std::string incomplete_inputs(const JobRecord& job, const StageRecord& stage) {
  std::vector<std::string> parents;
  for (StageId id : stage.inputs) {
    const StageRecord& input = job.stages.at(id);
    if (!input.info->complete())
      parents.push_back(fmt::format("{}, {} of {} tasks done", input.title(), input.info->finished, input.info->tasks.size()));
  }
  return parents.empty() ? std::string("its inputs") : fmt::format("{}", fmt::join(parents, "; "));
}

void explain_stage(const CoreContext& context, const JobRecord& job, const StageRecord& stage, std::vector<WaitingTasks>& out) {
  using Why = WaitingTasks::Why;
  const schedulers::StageInfo& info = *stage.info;
  const auto tasks = static_cast<std::uint32_t>(info.tasks.size());
  const std::uint32_t pending = info.pending.count();
  if (const std::uint32_t blocked = tasks - info.finished - info.running - pending; blocked > 0 && stage.active) {
    const bool paused = info.ready && info.inputs_complete && info.held.has_value();  // after failures
    out.push_back({stage.plan.id, stage.plan.name, blocked, Why::parents,
                   paused ? info.held->text : "waits for " + incomplete_inputs(job, stage), std::nullopt});
  }
  if (info.running > 0 && stage.started_early && !info.inputs_complete)
    out.push_back({stage.plan.id, stage.plan.name, info.running, Why::outputs,
                   "started early and wait for map outputs of " + incomplete_inputs(job, stage), std::nullopt});
  std::uint32_t rest = pending;
  for (const auto& [node, avoiding] : info.pending.avoiding()) {
    rest -= static_cast<std::uint32_t>(avoiding.size());
    out.push_back({stage.plan.id, stage.plan.name, static_cast<std::uint32_t>(avoiding.size()), Why::avoiding,
                   fmt::format("failed on {} and must go to another worker ({})", context.node_name(node),
                               room_for(context.view, info.demand)),
                   std::nullopt});
  }
  for (const auto& [node, promised] : info.preplaced) {
    const auto waiting = static_cast<std::uint32_t>(std::count_if(
        promised.begin(), promised.end(), [&](std::uint32_t task) { return info.pending.unconstrained().contains(task); }));
    if (waiting == 0) continue;
    rest -= waiting;
    out.push_back(
        {stage.plan.id, stage.plan.name, waiting, Why::placed,
         fmt::format("placed on {} by what it will read ({})", context.node_name(node), room_for(context.view, info.demand)),
         std::nullopt});
  }
  if (rest > 0) out.push_back(explain_held(context, job, stage, rest));
}

StageEstimate estimate_of(const schedulers::StageInfo& stage) {
  StageEstimate made;
  if (const auto estimate = schedulers::known_duration(stage)) made = {*estimate, schedulers::task_duration(stage).source};
  if (stage.observed_count > 0) made.mean = stage.observed_total / static_cast<std::int64_t>(stage.observed_count);
  return made;
}

UsedEstimate used_estimate(const StageRecord& record) {
  const schedulers::StageInfo& stage = *record.info;
  const auto duration = schedulers::task_duration(stage);
  UsedEstimate made{stage.id, stage.name, duration.value, duration.source, "nothing is known of it"};
  if (duration.source == schedulers::EstimateSource::program) made.basis = "the program says so";
  if (duration.source == schedulers::EstimateSource::observed)
    made.basis = fmt::format("{} so far", counted(stage.observed_count, "task"));
  if (duration.source == schedulers::EstimateSource::history)
    made.basis = fmt::format("about {:.3g} tasks of earlier runs, {:.0f} % off in the mean", stage.profile->tasks,
                             100 * stage.profile->error);
  if (!stage.variants.empty())
    made.basis += fmt::format("; it has functions for {}, which {} ran", fmt::join(stage.variants, ", "),
                              counted(record.usage.accelerated, "attempt"));
  return made;
}

}  // namespace

JobStatus status_of(const schedulers::ClusterView& view, const RoundEviction& rounds, const JobRecord& job, bool with_stages) {
  JobStatus status;
  status.id = job.spec.job;
  status.name = job.spec.name;
  status.user = job.spec.options.user;
  status.pool = job.spec.options.pool;
  status.submitted = job.info->submitted;
  status.deadline = job.info->deadline;
  status.priority = job.info->priority;
  status.weight = job.info->hints.weight;
  status.shuffle_replicas = job.spec.options.shuffle_replicas.value_or(1);
  status.options = texts_of(job.spec.options);
  status.counters = job.counters;
  status.shuffle_bytes = job.shuffle_bytes;
  status.input_bytes = job.input_bytes;
  status.input_records = job.input_records;
  status.lost_workers = job.lost_workers;
  status.workers_lost = job.workers_lost;
  for (const auto& [id, stage] : job.stages) {
    const schedulers::StageInfo& info = *stage.info;
    status.tasks.all += info.tasks.size();
    status.tasks.finished += info.finished;
    status.tasks.running += info.running;
    if (!with_stages) continue;
    StageStatus& out = status.stages.emplace_back();
    out.id = id;
    out.name = stage.plan.name;
    out.tasks = static_cast<std::uint32_t>(info.tasks.size());
    out.finished = info.finished;
    out.running = info.running;
    out.failed_attempts = info.failed_attempts;
    out.input_bytes = stage.input_bytes;
    out.shuffle_bytes = stage.shuffle_bytes;
    out.usage = stage.usage;
    out.usage.figures = distributions(stage.sketches);
    out.estimate = estimate_of(info);
    out.speculative = stage.speculative;
    out.speculative_won = stage.speculative_won;
    const PrefetchBudget::Standing standing = rounds.standing(job.spec.job, id);
    out.rounds_deferred = standing.rounds;
    out.bytes_deferred = standing.bytes;
    out.rounds_evicted = standing.evicted;
    out.rounds_returned = standing.returned;
    out.speculating = static_cast<std::uint32_t>(info.speculative.size());
    out.replicas = stage.replicas.made_count();
    out.replicas_abandoned = stage.replicas.abandoned;
    out.replicas_used = stage.replicas.used;
    out.waiting = stage.active && !info.ready;
    if (out.waiting) {
      out.reason = "its inputs are not complete";
    } else if (info.running > 0 && stage.started_early && !info.inputs_complete) {
      out.reason = "its tasks started early and wait for map outputs of " + incomplete_inputs(job, stage);
    } else if (!info.pending.empty()) {
      const auto& held = why_held(job, stage);
      out.reason = held ? held->text : room_for(view, info.demand);
    }
  }
  return status;
}

void add_predictions(const JobRecord& job, JobStatus& status) {
  for (StageStatus& out : status.stages) {
    const schedulers::StageInfo& stage = *job.stages.at(out.id).info;
    if (!stage.writes_shuffle || stage.complete()) continue;
    const auto sizes = schedulers::predict_partitions(stage);
    if (!sizes || sizes->empty()) continue;
    out.predicted_shuffle_bytes = static_cast<std::uint64_t>(std::accumulate(sizes->begin(), sizes->end(), 0.0));
    out.predicted_largest_partition = static_cast<std::uint64_t>(*std::max_element(sizes->begin(), sizes->end()));
  }
}

JobExplanation explain_job(const CoreContext& context, const JobRecord& job) {
  const SchedulerFaults& faults = context.scheduler.faults();
  JobExplanation out;
  out.id = job.spec.job;
  out.name = job.spec.name;
  out.running = job.info->running;
  out.finished = job.info->finished;
  for (StageId stage : job.open) out.speculating += job.stages.at(stage).info->speculative.size();
  const std::set<TaskId>& slow = context.view.stragglers();
  out.straggling = static_cast<std::uint64_t>(
      std::distance(slow.lower_bound({out.id, StageId(0), 0}), slow.lower_bound({JobId(out.id.value() + 1), StageId(0), 0})));
  std::uint64_t waiting = 0;
  for (StageId stage : job.open) {
    explain_stage(context, job, job.stages.at(stage), out.waiting);
    out.estimates.push_back(used_estimate(job.stages.at(stage)));
  }
  for (const WaitingTasks& group : out.waiting)
    if (group.why != WaitingTasks::Why::outputs) waiting += group.tasks;  // those run
  if (waiting > 0) {
    out.summary = fmt::format("{} running{}, {} waiting", counted(out.running, "task"), in_brackets(out), waiting);
  } else if (out.running > 0) {
    out.summary = fmt::format("{} running{}, none waiting", counted(out.running, "task"), in_brackets(out));
  } else {
    out.summary = job.stages.empty() ? "its driver has not submitted a stage yet"
                                     : "all that its driver asked for is done; it waits for the driver";
  }
  if (faults.faults > 0)
    out.summary +=
        fmt::format("; {} ({}, {} ago)", faults.fault, counted(faults.faults, "time"), human_duration(context.now() - faults.at));
  return out;
}

}  // namespace weft::master

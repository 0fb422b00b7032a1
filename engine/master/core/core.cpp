#include "engine/master/core/core.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/master/core/coordinator.hpp"
#include "engine/master/core/job_reports.hpp"
#include "engine/master/core/time_left.hpp"

namespace weft::master {

Core::Core(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory)
    : impl_(std::make_unique<Impl>(std::move(scheduler), options, std::move(factory))) {}
Core::~Core() = default;

void Core::restore(Time now, Restored restored, std::vector<Command>& commands) {
  impl_->restore(now, std::move(restored), commands);
}
Result<void> Core::apply(Time now, Event event, std::vector<Command>& commands) {
  return impl_->apply(now, std::move(event), commands);
}
Result<JobStatus> Core::job(JobId id, bool predict) const { return impl_->job(id, predict); }
std::vector<JobStatus> Core::jobs() const { return impl_->jobs(); }
std::optional<StageShape> Core::shape(JobId job, StageId stage) const { return impl_->shape(job, stage); }
Result<JobExplanation> Core::explain(JobId id) const { return impl_->explain(id); }
const schedulers::ClusterView& Core::view() const { return impl_->context().view; }
const SchedulerFaults& Core::scheduler_faults() const { return impl_->context().scheduler.faults(); }
const SchedulerConfigured& Core::configuration() const { return impl_->configuration(); }
std::map<JobId, schedulers::ExpectedEnd> Core::expected_ends() const {
  return schedulers::expected_ends(view(), impl_->context().scheduler.sharing());
}
NodeRemains Core::remains(NodeId node) const { return impl_->remains(node); }
std::string Core::why_excluded(NodeId node) const { return impl_->why_excluded(node); }
Result<std::vector<schedulers::GroupStatus>> Core::groups() const { return impl_->context().scheduler.groups(); }

Core::Impl::Impl(std::unique_ptr<schedulers::Scheduler> scheduler, const CoreOptions& options, SchedulerFactory factory)
    : context_(std::move(scheduler), options, std::move(factory)),
      health_(context_),
      speeds_(context_.view),
      oversized_(context_),
      slow_start_(context_),
      stragglers_(context_.view, context_.timers, options.speculation),
      replicas_(context_),
      rounds_(context_),
      preplacement_(context_, rounds_),
      shuffles_(context_, health_, replicas_, preplacement_, rounds_, slow_start_),
      attempts_(context_, shuffles_, slow_start_, stragglers_),
      failures_(context_, health_, attempts_, shuffles_),
      rollback_(context_, attempts_, shuffles_),
      decisions_(context_, attempts_) {}

Result<void> Core::Impl::apply(Time now, Event event, std::vector<Command>& commands) {
  const Time before = context_.now();
  context_.view.set_now(std::max(before, now));
  context_.commands.open(commands);
  context_.triggers.begin_event();
  Result<void> applied = std::visit([this](auto&& alternative) { return on(std::move(alternative)); }, std::move(event));
  if (applied) {
    while (auto failing = context_.jobs.take_failing()) {
      auto& [id, error] = *failing;
      if (context_.jobs.running().contains(id)) end_job(context_.jobs.at(id), JobState::failed, &error);
    }
    rollback_.apply();
    run_scheduler();
    rounds_.decide();
    preplacement_.limit_far();
  } else {
    context_.view.set_now(before);
  }
  context_.commands.close();
  return applied;
}

/// Triggers stay noted until the scheduler is called for them.
void Core::Impl::run_scheduler() {
  SchedulingTriggers& triggers = context_.triggers;
  do {
    if (!triggers.pending()) return;
    if (triggers.waits_for_step()) {
      if (const auto at = triggers.request_step(context_.now())) context_.timers.set({Timers::Purpose::step, *at});
      return;
    }
    for (const schedulers::Trigger& trigger : triggers.take()) {
      const std::uint64_t changes = triggers.changes();
      context_.scheduler.schedule(trigger, decisions_);
      if (triggers.by_heartbeats() && trigger.kind == schedulers::Trigger::Kind::node) triggers.answered(trigger.node, changes);
    }
  } while (make_way(slow_start_.reader_to_stop()));
}

/// True when an early reader was stopped, so that there is room that the scheduler should know of.
bool Core::Impl::make_way(const std::optional<TaskRef>& stopped) {
  if (!stopped) return false;
  JobRecord& job = *stopped->job;
  const std::string why = "makes way for the tasks whose output it waits for";
  attempts_.kill(*stopped, KillCause::making_way, why);
  attempts_.vacate(*stopped, &StageAttempts::killed);
  attempts_.give_up(*stopped);
  context_.record_reason(job.spec.job, stopped->stage->plan.id, why);
  job.waits_for_inputs = true;
  shuffles_.refresh(job);
  context_.triggers.note_work();
  return true;
}

Result<void> Core::Impl::on(const TimerFired& event) {
  WEFT_ASSIGN(const auto timer, context_.timers.fire(event.timer, context_.now()));
  if (!timer) return {};
  switch (timer->purpose) {
    case Timers::Purpose::scheduler:
      context_.triggers.note_timer();
      break;
    case Timers::Purpose::step:
      context_.triggers.note_step();
      break;
    case Timers::Purpose::exclusion:
      health_.readmit(timer->node);
      failures_.retry_paused();
      replicas_.replicate_waiting();
      if (context_.view.free_nodes().contains(timer->node)) context_.triggers.note_work();
      break;
    case Timers::Purpose::retry:
      failures_.retry_paused(timer->task);
      break;
    case Timers::Purpose::placement:
      oversized_.due(timer->job);
      break;
    case Timers::Purpose::stragglers:
      if (stragglers_.fire(timer->at)) context_.triggers.note_work();
      break;
    case Timers::Purpose::early_readers:
      make_way(slow_start_.reader_of_starved_job());
      break;
    case Timers::Purpose::heartbeat:
      check_heartbeat(timer->node);
      break;
  }
  return {};
}

Result<void> Core::Impl::on(SchedulerConfigured event) {
  WEFT_TRY(context_.scheduler.configure(event));
  if (event.speculation) {
    stragglers_.set_rules(*event.speculation);
    for (const auto& [id, job] : context_.jobs.running()) {
      for (StageId stage : job.open) stragglers_.watch(id, *job.stages.at(stage).info);
    }
  } else {
    event.speculation = stragglers_.rules();
  }
  configuration_ = std::move(event);
  context_.triggers.note_work();
  return {};
}

Result<JobStatus> Core::Impl::job(JobId id, bool predict) const {
  if (auto job = context_.jobs.running().find(id); job != context_.jobs.running().end()) {
    JobStatus status = status_of(context_.view, rounds_, job->second, true);
    add_time_left(context_.view, job->second, status);
    if (predict) add_predictions(job->second, status);
    return status;
  }
  if (auto ended = context_.jobs.ended().find(id); ended != context_.jobs.ended().end()) return ended->second;
  return fail(Code::not_found, fmt::format("there is no job {}", id.value()));
}

std::vector<JobStatus> Core::Impl::jobs() const {
  std::vector<JobStatus> all;
  for (const auto& [id, status] : context_.jobs.ended()) {
    all.push_back(status);
    all.back().stages.clear();
  }
  for (const auto& [id, job] : context_.jobs.running()) {
    all.push_back(status_of(context_.view, rounds_, job, false));
    add_time_left(context_.view, job, all.back());
  }
  std::sort(all.begin(), all.end(), [](const JobStatus& a, const JobStatus& b) { return a.id < b.id; });
  return all;
}

Result<JobExplanation> Core::Impl::explain(JobId id) const {
  if (auto ended = context_.jobs.ended().find(id); ended != context_.jobs.ended().end()) {
    JobExplanation out;
    out.id = id;
    out.name = ended->second.name;
    out.state = ended->second.state;
    out.summary = ended->second.error.empty() ? "it is over; nothing waits" : ended->second.error;
    return out;
  }
  if (auto job = context_.jobs.running().find(id); job != context_.jobs.running().end()) return explain_job(context_, job->second);
  return fail(Code::not_found, fmt::format("there is no job {}", id.value()));
}

}  // namespace weft::master

// Calling the scheduler. It may be a user's own: what it throws is caught, and a call that decides too much nonsense is cut off.
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// Thrown through the scheduler's frames to end a call that has used up its decisions.
struct CutOff {
  std::string why;
};

template <class Call>
std::optional<std::string> fault_of(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const CutOff& cut) {
    return cut.why;
  } catch (const std::exception& fault) {
    return fmt::format("threw: {}", fault.what());
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

}  // namespace

/// What there is to look at stays noted until the scheduler is called for it.
void Core::Impl::run_scheduler() {
  do {
    if (!timer_ && !work_ && !triggered_) return;
    if (options_.decide_every > Time(0) && !step_) return ask_for_step();
    using Kind = schedulers::Trigger::Kind;
    const bool work = std::exchange(work_, false);
    const std::optional<NodeId> node = std::exchange(triggered_, std::nullopt);
    if (std::exchange(timer_, false)) call_scheduler({Kind::timer, {}});
    if (options_.on_heartbeats && options_.decide_every == Time(0)) {
      if (heartbeat_) ask_for(*heartbeat_);
    } else if (work) {
      call_scheduler({Kind::work, {}});
    } else if (node) {
      call_scheduler({Kind::node, *node});
    }
  } while (make_way());
}

void Core::Impl::ask_for_step() {
  if (std::exchange(step_asked_, true)) return;
  const auto every = options_.decide_every.count();
  set_timer(Timer::Purpose::step, {}, Time((state_.now().count() + every - 1) / every * every));
}

void Core::Impl::call_scheduler(const schedulers::Trigger& trigger) {
  refused_now_ = decided_now_ = 0;
  tell_changes();
  if (auto fault = fault_of([&] { scheduler_->schedule(state_, trigger, *this); })) scheduler_failed(std::move(*fault));
  if (state_.stragglers().empty() || state_.free_nodes().empty()) return;
  tell_changes();
  if (auto fault = fault_of([&] { scheduler_->speculate(state_, trigger, *this); })) scheduler_failed(std::move(*fault));
}

void Core::Impl::call_preplace(const schedulers::Preplaceable& what) {
  refused_now_ = decided_now_ = 0;
  if (auto fault = fault_of([&] { scheduler_->preplace(state_, what, *this); })) scheduler_failed(std::move(*fault));
}

schedulers::RoundOrder Core::Impl::round_order() {
  schedulers::RoundOrder order = schedulers::RoundOrder::by_submission;
  if (auto fault = fault_of([&] { order = scheduler_->round_order(); })) scheduler_failed(std::move(*fault));
  return order;
}

void Core::Impl::notify(schedulers::Notice notice) {
  if (auto fault = fault_of([&] { scheduler_->on_event(state_, notice); })) scheduler_failed(std::move(*fault));
}

void Core::Impl::start_scheduler() {
  std::optional<Error> refusal;
  auto fault = fault_of([&] {
    if (auto started = scheduler_->start(state_, nullptr); !started) refusal = std::move(started).error();
  });
  if (refusal) fault = "could not start: " + refusal->to_string();
  if (fault) scheduler_failed(std::move(*fault));
}

/// Another scheduler, or another configuration, for jobs that may be running: the new one sees them, and the old one, when it
/// starts.
Result<void> Core::Impl::on(SchedulerConfigured event) {
  if (!factory_) return fail(Code::unavailable, "the scheduler of this core cannot be changed");
  std::unique_ptr<schedulers::Scheduler> next;
  Result<void> started;
  const auto fault = fault_of([&] {
    auto made = factory_(event.spec, event.files);
    if (made) next = std::move(*made);
    started = made ? next->start(state_, scheduler_.get()) : fail(std::move(made).error());
  });
  if (fault) return fail(Code::invalid_argument, fmt::format("scheduler {} {}", event.spec, *fault));
  WEFT_TRY(std::move(started));
  scheduler_ = std::move(next);
  if (event.speculation) {
    speculation_ = *event.speculation;
    if (!speculation_.on) state_.clear_stragglers();
    for (const auto& [id, job] : jobs_) {
      for (StageId stage : job.open) watch_stage(job, job.stages.at(stage));
    }
  } else {
    event.speculation = speculation_;
  }
  configuration_ = std::move(event);
  trigger_work();
  return {};
}

/// A job is let in when the scheduler fails to answer.
Result<void> Core::Impl::admit(const schedulers::JobInfo& job) {
  Result<void> admitted;
  if (auto fault = fault_of([&] { admitted = scheduler_->admit(state_, job); })) scheduler_failed(std::move(*fault));
  return admitted;
}

Result<std::vector<schedulers::GroupStatus>> Core::Impl::groups() const {
  std::vector<schedulers::GroupStatus> groups;
  if (auto fault = fault_of([&] { groups = scheduler_->groups(state_); }))
    return fail(Code::internal, fmt::format("scheduler {} {}", scheduler_->name(), *fault));
  return groups;
}

void Core::Impl::tell_changes() {
  for (JobId job : state_.take_changed_jobs()) {
    if (jobs_.contains(job)) notify({.kind = schedulers::Notice::Kind::job_changed, .job = job});
  }
}

void Core::Impl::scheduler_failed(std::string what) {
  ++trouble_.faults;
  trouble_.fault = fmt::format("scheduler {} {}", scheduler_->name(), what);
  trouble_.at = state_.now();
}

void Core::Impl::count_decision() {
  if (++decided_now_ > options_.max_decisions)
    throw CutOff{fmt::format("was cut off after {} decisions in one call", options_.max_decisions)};
}

tl::unexpected<Error> Core::Impl::refuse(JobId job, StageId stage, std::string why) {
  ++trouble_.refused;
  record_reason(job, stage, why);
  if (++refused_now_ >= options_.max_refusals)
    throw CutOff{fmt::format("was cut off after {} refused decisions in one call; the last: {}", refused_now_, why)};
  return fail(Code::invalid_argument, std::move(why));
}

}  // namespace weft::master

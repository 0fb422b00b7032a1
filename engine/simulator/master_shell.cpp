#include "engine/simulator/master_shell.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace weft::simulator {

namespace {

master::CoreOptions core_options(const ClusterModel& model) {
  master::CoreOptions options;
  options.heartbeat_timeout = Time(0);  // the simulator knows how long a silence takes to be noticed
  options.decide_every = model.step;
  options.keep_splits = false;
  options.on_heartbeats = model.heartbeat > Time(0);
  options.heartbeat = model.heartbeat;
  options.slow_start = model.slow_start;
  options.preplace_at = model.preplace;
  options.speculation = model.speculation;
  options.split_bytes = 0;  // partitions are as the workload has them
  options.merge_bytes = 0;
  options.placement_wait = std::chrono::hours(24 * 365);  // nodes come back
  options.finished_jobs_kept = 1;
  return options;
}

}  // namespace

MasterShell::MasterShell(World& world, Hands& hands, std::unique_ptr<schedulers::Scheduler> scheduler)
    : world_(world), hands_(hands), scheduler_name_(scheduler->name()) {
  if (world.options.history != nullptr) driver_.observe_with(observer_.emplace(*world.options.history));
  driver_.begin(std::make_unique<master::Core>(std::make_unique<WatchedScheduler>(std::move(scheduler), watch_),
                                               core_options(world.model), world.options.factory),
                std::nullopt);
  watch_.leaves_alone = [this](const schedulers::Preplaceable& what) {
    return world_.job_of(what.job).spec->stages[what.reader.value()].merged != 0;
  };
}

void MasterShell::add_to(RunResult& result) const {
  result.scheduler = scheduler_name_;
  result.refused_decisions = driver_.core().scheduler_faults().refused;
  result.events = applied_;
  result.event_digest = digest_.value();
  result.scheduler_calls = watch_.calls;
  result.scheduler_time = watch_.time;
}

void MasterShell::drain() {
  if (std::exchange(draining_, true)) return;
  while (!events_.empty()) {
    master::Event event = std::move(events_.front());
    events_.pop_front();
    give(std::move(event));
    // Nodes without a reason for heartbeats are asleep: new work wakes them.
    const bool before = std::exchange(runnable_, wanted());
    if (runnable_ && !before) hands_.work_waits();
  }
  draining_ = false;
}

void MasterShell::give(master::Event event) {
  std::optional<JobId> submitted;
  if (const auto* job = std::get_if<master::JobSubmitted>(&event)) submitted = job->job;
  const bool by_log = std::holds_alternative<master::CapacityChanged>(event);  // which may say what cannot be
  const Result<void> applied = driver_.apply(std::move(event));
  if (!applied && submitted) hands_.job_refused(*submitted, applied.error().to_string());
  // The ends of attempts, timers, and the plans of refused jobs may be void because of events before them.
  WEFT_ASSERT(applied || submitted || by_log || applied.error().code() == Code::cancelled ||
              applied.error().code() == Code::not_found);
}

void MasterShell::before(const master::Event& event) {
  digest_.add(world_.now, event);
  ++applied_;
  if (world_.options.on_event) event_ = master::copy_of(event);
  unreadable_.reset();
  if (const auto* failed = std::get_if<master::TaskFailed>(&event); failed != nullptr && failed->fetch)
    unreadable_.emplace(failed->attempt.task.job, *failed->fetch);
}

void MasterShell::accepted(const std::vector<master::Command>& commands) {
  // Not if the reader was given up before its report: then the next reader reports it.
  if (unreadable_) hands_.output_lost(unreadable_->first, unreadable_->second);
  if (event_) world_.options.on_event(world_.now, *event_);
  if (!world_.options.on_command) return;
  for (const master::Command& command : commands) world_.options.on_command(world_.now, command);
}

void MasterShell::carry_out(master::Command& command) { hands_.carry_out(command); }

}  // namespace weft::simulator

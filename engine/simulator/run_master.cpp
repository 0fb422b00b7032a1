// The shell of the core: events go in, commands are carried out, and what they lead to goes in again.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/simulator/run.hpp"

namespace weft::simulator {

namespace {
std::size_t position(JobId job) { return job.value() - 1; }
}  // namespace

/// Noted; drain() gives it to the master.
void Run::apply(master::Event event) { events_.push_back(std::move(event)); }

void Run::drain() {
  if (std::exchange(draining_, true)) return;
  while (!events_.empty()) {
    master::Event event = std::move(events_.front());
    events_.pop_front();
    if (observer_) (void)observer_->before(now_, core_.view(), event);
    digest_.add(now_, event);
    ++events_applied_;
    commands_.clear();
    std::optional<master::Event> copy;  // events are moved into the core
    if (options_.on_event) copy = master::copy_of(event);
    std::optional<JobId> submitted;
    if (const auto* job = std::get_if<master::JobSubmitted>(&event)) submitted = job->job;
    std::optional<std::pair<JobId, shuffle::FetchFailure>> unreadable;
    if (const auto* failed = std::get_if<master::TaskFailed>(&event); failed != nullptr && failed->fetch)
      unreadable.emplace(failed->attempt.task.job, *failed->fetch);
    const bool by_log = std::holds_alternative<master::CapacityChanged>(event);  // which may say what cannot be
    const Result<void> applied = core_.apply(now_, std::move(event), commands_);
    if (!applied && submitted) job_over(position(*submitted), Outcome::refused, applied.error().to_string());
    // The ends of attempts, timers, and the plans of refused jobs may have become void by what came before them.
    WEFT_ASSERT(applied || submitted || by_log || applied.error().code() == Code::cancelled ||
                applied.error().code() == Code::not_found);
    // Not when the reader was given up before it could say so: then the next one will.
    if (applied && unreadable) output_lost(jobs_[position(unreadable->first)], unreadable->second);
    if (copy && applied) options_.on_event(now_, *copy);
    if (observer_ && applied) observer_->after(core_.view(), commands_, 0);
    for (const master::Command& command : commands_) {
      if (options_.on_command) options_.on_command(now_, command);
      std::visit([this](const auto& alternative) { carry_out(alternative); }, command);
    }
    note_runnable();
  }
  draining_ = false;
}

template <class Command>
void Run::carry_out(const Command& command) {
  using namespace master;
  if constexpr (std::is_same_v<Command, LaunchTask>) {
    launch(command);
  } else if constexpr (std::is_same_v<Command, KillTask>) {
    const std::uint32_t machine = machine_of_node_[command.node.value()];
    if (auto slot = slot_of(command.attempt, machine)) {
      switch (command.cause) {
        case KillCause::preempted:
        case KillCause::making_way:
          end(*slot, AttemptOutcome::preempted);
          break;
        case KillCause::job_over:
          end(*slot, AttemptOutcome::lost);
          break;
        case KillCause::lost_race:
          end(*slot, AttemptOutcome::redundant);
          break;
      }
    }
    wake(machine);
  } else if constexpr (std::is_same_v<Command, PrefetchShuffle>) {
    if (service_) service_->prefetch(machine_of_node_[command.node.value()], command);
  } else if constexpr (std::is_same_v<Command, ReleaseShuffle>) {
    if (service_) service_->release(machine_of_node_[command.node.value()], command.job, command.shuffle);
  } else if constexpr (std::is_same_v<Command, ReleaseJob>) {
    if (service_) service_->release(machine_of_node_[command.node.value()], command.job);
  } else if constexpr (std::is_same_v<Command, NodeLost>) {
    if (service_) service_->node_lost(command.node);
  } else if constexpr (std::is_same_v<Command, ReplicateOutput>) {
    copy_output(command);
  } else if constexpr (std::is_same_v<Command, OutputMoved>) {
    move_output(command);
  } else if constexpr (std::is_same_v<Command, ActionFinished>) {
    JobRun& job = jobs_[position(command.job)];
    job.parts.empty() ? apply(JobClosed{command.job}) : plan_later(position(command.job));
  } else if constexpr (std::is_same_v<Command, JobFinished>) {
    job_over(position(command.job), Outcome::finished, "");
  } else if constexpr (std::is_same_v<Command, JobFailed>) {
    const bool never_ran = !accounts_.job(position(command.job)).started;
    const Outcome outcome = never_ran && command.error.code() == Code::resource_exhausted ? Outcome::refused : Outcome::failed;
    job_over(position(command.job), outcome, command.error.to_string());
  } else if constexpr (std::is_same_v<Command, SetTimer>) {
    agenda_.add(command.at, {What::timer, 0, 0, command.timer});
  }
  // Tables: the simulator knows where outputs are.
}

void Run::arrive(std::size_t index) {
  JobRun& job = jobs_[index];
  job.spec = &workload_.jobs[index];
  job.running = true;
  const Random random(model_.seed * 0x9e3779b97f4a7c15ULL + index, 3);
  auto placement = std::make_unique<Placement>(machines_, model_.storage, random);
  std::vector<StagePlan> plans =
      lay_out(*job.spec, model_, machines_, *placement, Random(model_.seed * 0x9e3779b97f4a7c15ULL + index, 4));
  if (model_.storage.output_replicas > 1) job.placement = std::move(placement);
  std::vector<plan::PlanPart> parts = plan_of(*job.spec, plans, machines_);
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    StageRun& stage = job.stages.emplace_back();
    stage.spec = &job.spec->stages[i];
    stage.plan = std::move(plans[i]);
    stage.bytes_per_task = static_cast<double>(stage.spec->shuffle_bytes) / stage.spec->tasks;
    if (stage.plan.partitions == 0) continue;
    stage.latest.resize(stage.spec->tasks);
  }
  accounts_.job_arrived(index, accounts_.job(index).tasks);
  last_progress_ = now_;
  if (auto why = never_fits(job)) return job_over(index, Outcome::refused, std::move(*why));
  const JobId id(index + 1);
  master::JobSubmitted submitted = submission(*job.spec, id);
  if (submitted.shuffle_replicas == 0) submitted.shuffle_replicas = model_.shuffle_replicas;
  if (model_.shuffle.mode) submitted.shuffle_mode = *model_.shuffle.mode;
  if (early(job)) submitted.slow_start = std::min(model_.slow_start, job.spec->slow_start);
  apply(std::move(submitted));
  std::move(parts.begin(), parts.end(), std::back_inserter(job.parts));
  plan_later(index);
}

/// The next part of the job's plan comes when its driver has thought about what there is.
void Run::plan_later(std::size_t index) {
  const JobRun& job = jobs_[index];
  const std::uint32_t first = job.parts.front().stages.front().id.value();
  const Time after = job.spec->stages[first].planned.value_or(Time{0});
  if (after <= Time{0}) return plan_next(index);
  agenda_.add(now_ + after, {What::plan, 0, 0, index});
}

void Run::plan_next(std::size_t index) {
  JobRun& job = jobs_[index];
  if (!job.running) return;
  master::PlanExtended extended{JobId(index + 1), std::move(job.parts.front())};
  job.parts.pop_front();
  for (const plan::Stage& stage : extended.part.stages) extended.profiles.push_back(job.spec->stages[stage.id.value()].profile);
  apply(std::move(extended));
}

/// What is not of the run's own making.
void Run::tell(std::size_t place) {
  const ToldEvent& told = options_.told[place];
  if (place + 1 < options_.told.size()) agenda_.add(options_.told[place + 1].at, {What::told, 0, 0, place + 1});
  master::Event event = master::copy_of(told.event);
  if (told.machine) {
    if (*told.machine >= machines_.count() || !machines_[*told.machine].known) return;
    const NodeId node = machines_[*told.machine].id;
    if (auto* beat = std::get_if<master::WorkerHeartbeat>(&event)) beat->node = node;
    if (auto* change = std::get_if<master::CapacityChanged>(&event)) change->node = node;
  }
  apply(std::move(event));
}

void Run::job_over(std::size_t index, Outcome outcome, std::string error) {
  accounts_.job_ended(index, now_, outcome, std::move(error));
  JobRun& job = jobs_[index];
  job.running = false;
  transfers_over(index);
  job.stages = {};
  job.parts = {};
  job.placement.reset();
  ++over_;
  last_progress_ = now_;
}

/// Nodes whose heartbeats could not matter are asleep; when there is work again, they are not.
void Run::note_runnable() {
  const bool before = std::exchange(runnable_, wanted());
  if (runnable_ && !before) wake_free();
}

}  // namespace weft::simulator

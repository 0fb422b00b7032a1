#include "engine/simulator/tasks.hpp"

#include <algorithm>
#include <utility>

namespace weft::simulator {

namespace {

/// To connect, to exchange greetings, to open the chunk, and to request its bytes.
constexpr std::int64_t kRoundTripsOfRead = 4;

const StageSpec::Failure* next_failure(const StageRun& stage, std::uint32_t task) {
  const auto failures = stage.spec->failures.find(task);
  if (failures == stage.spec->failures.end()) return nullptr;
  const auto failed = stage.failed.find(task);
  const std::size_t next = failed == stage.failed.end() ? 0 : failed->second;
  return next < failures->second.size() ? &failures->second[next] : nullptr;
}

}  // namespace

void Tasks::launch(const master::LaunchTask& command) {
  const Slot slot = attempts_.add(command);
  Attempt& attempt = attempts_[slot];
  const Machine& machine = world_.machines[attempt.machine];
  const JobRun& job = world_.job_of(attempt);
  StageRun& stage = world_.stage_of(attempt);
  if (attempt.speculative) {
    note_speculating(slot);
  } else if (!stage.latest.empty() && stage.latest[attempt.id.task.index] > 0) {  // it was done before; that work is wasted
    Output& before = stage.outputs[stage.latest[attempt.id.task.index] - 1];
    JobResult& result = world_.accounts.job(world_.index_of(attempt));
    const Time wasted = std::exchange(before.made_in, Time(0));
    result.work.useful -= wasted;
    result.work.lost += wasted;
    if (std::exchange(before.counted, false)) world_.accounts.task_undone(world_.index_of(attempt));
  }
  world_.accounts.attempt_started(world_.index_of(attempt), stage.plan.demand, world_.now, attempt.speculative);
  if (!stage.plan.replicas.empty()) count_locality(job, attempt);
  if (!machine.alive) {
    attempt.phase = Phase::stalled;
    return;
  }
  if (service_ && stage.plan.partitions > 0)
    attempt.room = service_->reserve(attempt.machine, attempt.id.task.job, ShuffleId(attempt.id.task.stage.value()));
  if (!stage.spec->failures.empty() && !attempt.speculative) attempt.failure = next_failure(stage, attempt.id.task.index);
  if (world_.model.faults.stragglers > 0 || world_.model.faults.attempt_failures > 0) draw_faults(attempt);
  read_input(slot);
}

void Tasks::draw_faults(Attempt& attempt) {
  const FaultModel& faults = world_.model.faults;
  Random random = world_.random_for(attempt.id, 0x9e3779b97f4a7c15ULL);
  if (random.chance(faults.stragglers)) attempt.factor = 1 + random.uniform() * 2 * (faults.straggler_factor - 1);
  attempt.fails = random.chance(faults.attempt_failures);
  if (attempt.fails) attempt.factor *= random.uniform();
}

void Tasks::note_speculating(Slot slot) {
  const Attempt& attempt = attempts_[slot];
  const schedulers::TaskInfo& task = *master_.view().task(attempt.id.task);
  const auto first = attempts_.slot_of({attempt.id.task, task.attempt()}, world_.machine_of_node[task.node.value()]);
  if (first && *first != slot) attempts_.begin_speculating(attempt.id.task, *first, slot);  // else the first has just ended
}

void Tasks::count_locality(const JobRun& job, const Attempt& attempt) {
  const auto replicas = job.stages[attempt.id.task.stage.value()].plan.replicas.of(attempt.id.task.index);
  if (replicas.empty()) return;
  LocalityCounts& counts = world_.accounts.job(world_.index_of(attempt)).locality;
  int nearest = Machines::kFar;
  for (std::uint32_t replica : replicas) nearest = std::min(nearest, world_.machines.distance(replica, attempt.machine));
  ++(nearest == 0 ? counts.node : nearest == 1 ? counts.rack : counts.any);
}

/// The nearest replica on a machine that lives, else kOutside. Among equally near ones the task's number decides, so that they
/// share the load.
std::uint32_t Tasks::nearest_replica(const Attempt& attempt, std::span<const std::uint32_t> replicas) const {
  std::uint32_t best = Machines::kOutside;
  int nearest = Machines::kFar + 1;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::uint32_t replica = replicas[(i + attempt.id.task.index) % replicas.size()];
    if (replica == Machines::kOutside || !world_.machines[replica].alive) continue;
    const int distance = world_.machines.distance(replica, attempt.machine);
    if (distance >= nearest) continue;
    nearest = distance;
    best = replica;
  }
  return best;
}

void Tasks::read_input(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = world_.stage_of(attempt);
  const std::uint64_t bytes = stage.spec->input_bytes / stage.spec->tasks;
  if (bytes == 0) return readers_.begin(slot);
  attempt.input_bytes = bytes;
  if (stage.plan.replicas.empty()) return readers_.begin(slot);
  const auto replicas = stage.plan.replicas.of(attempt.id.task.index);
  if (replicas.empty()) return readers_.begin(slot);
  attempt.source = nearest_replica(attempt, replicas);
  attempt.phase = Phase::reading;
  Move move = world_.machines.read(attempt.source, attempt.machine, static_cast<double>(bytes));
  if (!attempts_.start_move(slot, std::move(move), kRoundTripsOfRead)) readers_.begin(slot);
}

void Tasks::flow_ended(Slot slot) {
  const Attempt& attempt = attempts_[slot];
  transfers_.count(world_.index_of(attempt), attempt.move, 1);
  switch (attempt.phase) {
    case Phase::reading:
      return readers_.begin(slot);
    case Phase::fetching:
      return readers_.fetched(slot);
    case Phase::writing:
      return written(slot);
    case Phase::taking:
    case Phase::waiting:
    case Phase::working:
    case Phase::reported:
    case Phase::stalled:
      WEFT_ASSERT(false);
  }
}

void Tasks::fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch) {
  Attempt& attempt = attempts_[slot];
  attempts_.break_move(slot);
  master::TaskFailed event;
  event.attempt = attempt.id;
  event.node = world_.machines[attempt.machine].id;
  event.kind = kind;
  event.message = std::move(message);
  event.fetch = fetch;
  event.device = attempt.device;
  report(slot, std::move(event));
}

/// Reports the end of an attempt to the master: at once, or with the next heartbeat of its machine.
void Tasks::report(Slot slot, master::Event event) {
  Attempt& attempt = attempts_[slot];
  if (world_.model.heartbeat == Time(0)) return deliver(slot, std::move(event));
  attempt.phase = Phase::reported;
  heartbeats_.report(attempt.machine, {slot, attempt.generation, std::move(event)});
}

void Tasks::deliver(Slot slot, master::Event event) {
  Attempt& attempt = attempts_[slot];
  if (attempt.overtaken) {
    end(slot, End::redundant);
    return;
  }
  const bool finished = std::holds_alternative<master::TaskFinished>(event);
  master_.apply(std::move(event));  // before readers report on its output
  if (finished) {
    JobRun& job = world_.job_of(attempt);
    StageRun& stage = world_.stage_of(attempt);
    const std::size_t index = world_.index_of(attempt);
    if (Attempt* other = attempts_.other_of(slot)) other->overtaken = true;
    if (stage.plan.partitions > 0 && outputs_.add(stage, attempt)) readers_.go_on(job, stage);
    end(slot, End::useful);
    world_.accounts.task_finished(index);
  } else {
    ++world_.accounts.job(world_.index_of(attempt)).failed_attempts;
    end(slot, End::failed);
  }
}

void Tasks::end(Slot slot, End outcome) {
  Attempt& attempt = attempts_[slot];
  attempts_.break_move(slot);
  const std::size_t index = world_.index_of(attempt);
  if (Attempt* other = attempts_.other_of(slot)) {
    if (outcome != End::useful && !attempt.speculative)
      std::swap(attempt.speculative, other->speculative);  // the task does not wait: the other attempt runs
    attempts_.end_speculating(attempt.id.task);
  }
  world_.accounts.attempt_ended(index, world_.stage_of(attempt).plan.demand, attempt.speculative);
  const Time length = world_.now - attempt.launched;
  JobResult& job = world_.accounts.job(index);
  switch (outcome) {
    case End::useful:
      job.work.useful += length;
      break;
    case End::failed:
    case End::lost:
      job.work.lost += length;
      break;
    case End::preempted:
      job.work.preempted += length;
      ++job.preemptions;
      break;
    case End::redundant:
      job.work.redundant += length;
      break;
  }
  if (attempt.phase == Phase::waiting) readers_.stop_waiting(slot);
  if (world_.contention && world_.contention->end(world_.now, attempt.machine, slot)) world_.note_next_worked(attempt.machine);
  if (service_) drop_prefetched(attempt);
  attempt.room = {};
  attempts_.remove(slot);
}

void Tasks::stall(std::uint32_t machine) {
  for (Slot slot : world_.machines[machine].attempts) {
    attempts_.break_move(slot);
    if (attempts_[slot].phase == Phase::waiting) readers_.stop_waiting(slot);
    attempts_[slot].phase = Phase::stalled;
    ++attempts_[slot].generation;
  }
}

void Tasks::source_gone(std::uint32_t machine) {
  for (Slot slot = 0; slot < attempts_.count(); ++slot) {
    Attempt& attempt = attempts_[slot];
    if (!attempt.active) continue;
    if (attempt.phase == Phase::reading && attempt.source == machine) {
      attempts_.break_move(slot);
      read_input(slot);
    } else if (attempt.phase == Phase::fetching) {
      readers_.refetch(slot, machine);
    }
  }
}

void Tasks::machine_lost(std::uint32_t machine) {
  const std::vector<Slot>& there = world_.machines[machine].attempts;
  while (!there.empty()) {
    ++world_.accounts.job(world_.index_of(attempts_[there.back()])).failed_attempts;
    end(there.back(), End::lost);
  }
}

}  // namespace weft::simulator

// The life of an attempt on its machine: read input, fetch shuffles, work, write.
#include <algorithm>
#include <utility>

#include "engine/simulator/run.hpp"

namespace weft::simulator {

Attempt* Run::find(Slot slot, std::uint32_t generation) {
  Attempt& attempt = attempts_[slot];
  return attempt.active && attempt.generation == generation ? &attempt : nullptr;
}

std::optional<Run::Slot> Run::slot_of(const AttemptId& id, std::uint32_t machine) const {
  const auto& there = machines_[machine].attempts;
  const auto found = std::find_if(there.begin(), there.end(), [&](Slot slot) { return attempts_[slot].id == id; });
  return found == there.end() ? std::nullopt : std::optional(*found);
}

void Run::launch(const master::LaunchTask& command) {
  Slot slot = static_cast<Slot>(attempts_.size());
  if (free_slots_.empty()) {
    attempts_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  Attempt& attempt = attempts_[slot];
  attempt.id = command.attempt;
  attempt.machine = machine_of_node_[command.node.value()];
  attempt.active = true;
  attempt.launched = now_;
  attempt.input_bytes = 0;
  attempt.factor = 1;
  attempt.fails = false;
  attempt.extra = command.speculative;
  attempt.overtaken = false;
  attempt.failure = nullptr;
  attempt.writing = false;
  attempt.shuffle_times = {};
  Machine& machine = machines_[attempt.machine];
  attempt.place = static_cast<std::uint32_t>(machine.attempts.size());
  machine.attempts.push_back(slot);
  ++running_;
  last_progress_ = now_;
  const JobRun& job = job_of(attempt);
  StageRun& stage = stage_of(attempt);
  if (attempt.extra) {
    join_race(slot);
  } else if (!stage.latest.empty() && stage.latest[attempt.id.task.index] > 0) {  // it was done before; that work is wasted
    Output& before = stage.outputs[stage.latest[attempt.id.task.index] - 1];
    JobResult& result = accounts_.job(index_of(attempt));
    const Time wasted = std::exchange(before.made_in, Time(0));
    result.work.useful -= wasted;
    result.work.lost += wasted;
    if (std::exchange(before.counted, false)) accounts_.task_undone(index_of(attempt));
  }
  accounts_.attempt_started(index_of(attempt), stage.plan.demand, now_, attempt.extra);
  if (!stage.plan.replicas.empty()) count_locality(job, attempt);
  if (!machine.alive) {
    attempt.phase = Phase::stalled;
    return;
  }
  if (service_ && stage.plan.partitions > 0)
    attempt.room = service_->reserve(attempt.machine, attempt.id.task.job, ShuffleId(attempt.id.task.stage.value()));
  if (!stage.spec->failures.empty() && !attempt.extra) attempt.failure = next_failure(stage, attempt.id.task.index);
  const FaultModel& faults = model_.faults;
  if (faults.stragglers > 0 || faults.attempt_failures > 0) {
    // What befalls an attempt does not depend on what befell others.
    const TaskId& task = attempt.id.task;
    Random random(model_.seed ^ task.job.value() * 0x9e3779b97f4a7c15ULL,
                  (std::uint64_t{task.stage.value()} << 40) + (std::uint64_t{task.index} << 8) + attempt.id.attempt);
    if (random.chance(faults.stragglers)) attempt.factor = 1 + random.uniform() * 2 * (faults.straggler_factor - 1);
    attempt.fails = random.chance(faults.attempt_failures);
    if (attempt.fails) attempt.factor *= random.uniform();
  }
  read_input(slot);
}

const StageSpec::Failure* Run::next_failure(const StageRun& stage, std::uint32_t task) {
  const auto failures = stage.spec->failures.find(task);
  if (failures == stage.spec->failures.end()) return nullptr;
  const auto failed = stage.failed.find(task);
  const std::size_t next = failed == stage.failed.end() ? 0 : failed->second;
  return next < failures->second.size() ? &failures->second[next] : nullptr;
}

void Run::join_race(Slot slot) {
  const Attempt& attempt = attempts_[slot];
  const schedulers::TaskInfo& task = *core_.view().task(attempt.id.task);
  const auto first = slot_of({attempt.id.task, task.attempt()}, machine_of_node_[task.node.value()]);
  if (first && *first != slot) speculating_[attempt.id.task] = {*first, slot};  // else the first has just ended
}

/// The other attempt of its task, when that runs.
Attempt* Run::other_of(Slot slot) {
  if (speculating_.empty()) return nullptr;
  const auto race = speculating_.find(attempts_[slot].id.task);
  if (race == speculating_.end() || (race->second.first != slot && race->second.second != slot)) return nullptr;
  return &attempts_[race->second.first == slot ? race->second.second : race->second.first];
}

void Run::count_locality(const JobRun& job, const Attempt& attempt) {
  const auto replicas = job.stages[attempt.id.task.stage.value()].plan.replicas.of(attempt.id.task.index);
  if (replicas.empty()) return;
  LocalityCounts& counts = accounts_.job(index_of(attempt)).locality;
  const Machine& machine = machines_[attempt.machine];
  bool same_rack = false;
  for (std::uint32_t replica : replicas) {
    if (replica == attempt.machine) {
      ++counts.node;
      return;
    }
    same_rack |= replica != Machines::kOutside && machines_[replica].rack == machine.rack;
  }
  ++(same_rack ? counts.rack : counts.any);
}

/// From the nearest replica on a machine that lives; among those of a kind by the task's number, so that they share the load.
void Run::read_input(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = stage_of(attempt);
  const std::uint64_t bytes = stage.spec->input_bytes / stage.spec->tasks;
  if (bytes == 0) return begin_fetch(slot);
  attempt.input_bytes = bytes;
  if (stage.plan.replicas.empty()) return begin_fetch(slot);
  const auto replicas = stage.plan.replicas.of(attempt.id.task.index);
  if (replicas.empty()) return begin_fetch(slot);
  std::uint32_t best = Machines::kOutside;
  int nearest = 3;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::uint32_t replica = replicas[(i + attempt.id.task.index) % replicas.size()];
    if (replica == Machines::kOutside || !machines_[replica].alive) continue;
    const int distance = replica == attempt.machine ? 0 : machines_[replica].rack == machines_[attempt.machine].rack ? 1 : 2;
    if (distance >= nearest) continue;
    nearest = distance;
    best = replica;
  }
  attempt.source = best;
  attempt.phase = Phase::reading;
  if (!start_move(slot, machines_.read(best, attempt.machine, static_cast<double>(bytes)))) begin_fetch(slot);
}

/// False when it took no time.
bool Run::start_move(Slot slot, Move move) {
  Attempt& attempt = attempts_[slot];
  attempt.move = std::move(move);
  if (attempt.move.bytes <= 0) return false;
  if (!flows()) {
    count_traffic(index_of(attempt), attempt.move, 1);
    return false;
  }
  attempt.flow = network_.start(now_, attempt.move.bytes, std::exchange(attempt.move.uses, {}));
  if (flow_owner_.size() <= *attempt.flow) flow_owner_.resize(*attempt.flow + 1);
  flow_owner_[*attempt.flow] = slot;
  return true;
}

void Run::break_move(Slot slot) {
  Attempt& attempt = attempts_[slot];
  if (!attempt.flow) return;
  const double bytes = network_.stop(now_, *attempt.flow);
  attempt.flow.reset();
  const double part = std::min(1.0, bytes / attempt.move.bytes);
  count_traffic(index_of(attempt), attempt.move, part);
  if (attempt.fetch) attempt.fetch->left *= 1 - part;
}

void Run::count_traffic(std::size_t job, const Move& move, double part) {
  const auto add = [&](TrafficByKind& to) {
    Traffic& sum = to[static_cast<std::size_t>(move.kind)];
    sum.total += part * move.traffic.total;
    sum.remote += part * move.traffic.remote;
    sum.cross_rack += part * move.traffic.cross_rack;
  };
  add(accounts_.job(job).traffic);
  if (!flows()) add(instant_traffic_);
}

void Run::fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch) {
  Attempt& attempt = attempts_[slot];
  break_move(slot);
  master::TaskFailed event;
  event.attempt = attempt.id;
  event.node = machines_[attempt.machine].id;
  event.kind = kind;
  event.message = std::move(message);
  event.fetch = fetch;
  report(slot, std::move(event));
}

/// The end of an attempt: told to the master at once, or with the next heartbeat.
void Run::report(Slot slot, master::Event event) {
  Attempt& attempt = attempts_[slot];
  if (model_.heartbeat == Time(0)) return deliver(slot, std::move(event));
  attempt.phase = Phase::reported;
  outbox_[attempt.machine].push_back({slot, attempt.generation, std::move(event)});
  wake(attempt.machine);
}

void Run::deliver(Slot slot, master::Event event) {
  Attempt& attempt = attempts_[slot];
  if (attempt.overtaken) {
    end(slot, AttemptOutcome::redundant);
    return;
  }
  const bool finished = std::holds_alternative<master::TaskFinished>(event);
  apply(std::move(event));  // before what readers have to say of its output
  if (finished) {
    JobRun& job = job_of(attempt);
    StageRun& stage = stage_of(attempt);
    const std::size_t index = index_of(attempt);
    if (Attempt* other = other_of(slot)) other->overtaken = true;
    if (stage.plan.partitions > 0) add_output(job, stage, attempt);
    end(slot, AttemptOutcome::useful);
    accounts_.task_finished(index);
  } else {
    ++accounts_.job(index_of(attempt)).failed_attempts;
    end(slot, AttemptOutcome::failed);
  }
}

Time Run::end(Slot slot, AttemptOutcome outcome) {
  Attempt& attempt = attempts_[slot];
  break_move(slot);
  const std::size_t index = index_of(attempt);
  if (Attempt* other = other_of(slot)) {
    if (outcome != AttemptOutcome::useful && !attempt.extra)
      std::swap(attempt.extra, other->extra);  // the task does not wait: the other one runs
    speculating_.erase(attempt.id.task);
  }
  accounts_.attempt_ended(index, stage_of(attempt).plan.demand, attempt.extra);
  const Time length = now_ - attempt.launched;
  JobResult& job = accounts_.job(index);
  switch (outcome) {
    case AttemptOutcome::useful:
      job.work.useful += length;
      break;
    case AttemptOutcome::failed:
    case AttemptOutcome::lost:
      job.work.lost += length;
      break;
    case AttemptOutcome::preempted:
      job.work.preempted += length;
      ++job.preemptions;
      break;
    case AttemptOutcome::redundant:
      job.work.redundant += length;
      break;
  }
  if (attempt.phase == Phase::waiting) {
    stop_waiting(slot);
  }
  if (contention_ && contention_->end(now_, attempt.machine, slot)) note_next_worked(attempt.machine);
  if (service_) drop_prefetched(attempt);
  attempt.room = {};
  auto& there = machines_[attempt.machine].attempts;
  there[attempt.place] = there.back();
  attempts_[there.back()].place = attempt.place;
  there.pop_back();
  attempt.active = false;
  attempt.fetch.reset();
  ++attempt.generation;
  free_slots_.push_back(slot);
  --running_;
  last_progress_ = now_;
  return length;
}

}  // namespace weft::simulator

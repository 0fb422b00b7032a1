// The work of an attempt on its machine, alone or beside others, and what it writes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/simulator/run.hpp"

namespace weft::simulator {

namespace {

const std::vector<shuffle::PartitionSize>& row_of(StageRun& stage) {
  for (std::uint32_t p = 0; stage.row.size() < stage.plan.partitions; ++p) {
    if (p == 0) stage.row.reserve(stage.plan.partitions);
    const double weight = stage.plan.weights.empty() ? 1.0 / stage.plan.partitions : stage.plan.weights[p];
    const auto bytes = static_cast<std::uint64_t>(stage.bytes_per_task * weight + 0.5);
    stage.row.push_back({bytes, static_cast<std::uint32_t>(bytes / 100)});
  }
  return stage.row;
}

/// Of a node of this kind, for tasks of the stage.
double speed(const StageSpec& stage, const NodeGroup& group) {
  double speedup = 0;
  for (const Speedup& one : stage.speedups) {
    const auto attribute = group.attributes.find(one.attribute);
    if (attribute != group.attributes.end() && attribute->second == one.value) speedup = std::max(speedup, one.factor);
  }
  return speedup > 0 ? group.speed * speedup : group.speed;
}

}  // namespace

void Run::work(Slot slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::working;
  if (std::exchange(attempt.fetch, nullptr)) attempt.shuffle_times.read = now_ - attempt.began;
  if (model_.shuffle.mode) write_while_working(slot);
  const StageRun& stage = stage_of(attempt);
  const std::vector<Time>& durations = stage.spec->durations;
  const Time duration = attempt.failure != nullptr ? attempt.failure->after
                        : durations.empty()        ? stage.spec->duration
                                                   : durations[attempt.id.task.index];
  const double factor = attempt.factor / speed(*stage.spec, *machines_[attempt.machine].group);
  const Time takes = factor == 1 ? duration : Time(std::llround(static_cast<double>(duration.count()) * factor));
  if (!contention_) return agenda_.add(now_ + takes, {What::work_done, slot, attempt.generation});
  contention_->end(now_, attempt.machine, slot);  // what it loaded while it fetched
  contention_->begin(now_, attempt.machine, slot, load_of(attempt), takes);
  note_next_worked(attempt.machine);
}

/// What it takes of its node while it works.
const schedulers::Resources& Run::load_of(const Attempt& attempt) {
  const StageRun& stage = stage_of(attempt);
  if (stage.spec->load != schedulers::Resources()) return stage.spec->load;
  const schedulers::JobHints& hints = job_of(attempt).spec->hints;
  const auto& profile = stage.spec->parents.empty() ? hints.map_profile : hints.reduce_profile;
  return profile ? *profile : stage.plan.demand;
}

void Run::note_next_worked(std::uint32_t machine) {
  if (const auto next = contention_->next(machine)) agenda_.add(next->at, {What::works_done, machine, 0, next->turn});
}

/// Of a machine whose tasks share what it has.
void Run::works_done(std::uint32_t machine, std::uint64_t turn) {
  const std::vector<Slot> slots = contention_->done(now_, machine, turn);
  for (Slot slot : slots) contention_->end(now_, machine, slot);
  if (!slots.empty()) note_next_worked(machine);
  for (Slot slot : slots) worked(slot);
}

void Run::worked(Slot slot) {
  Attempt& attempt = attempts_[slot];
  if (attempt.failure != nullptr) {
    ++stage_of(attempt).failed[attempt.id.task.index];
    const bool environment = attempt.failure->environment;
    return fail(slot, environment ? master::FailureKind::environment : master::FailureKind::user_code, "failed as recorded");
  }
  if (attempt.fails) return fail(slot, master::FailureKind::user_code, "simulated failure");
  attempt.began = now_;
  attempt.phase = Phase::writing;
  if (!attempt.writing) write_output(slot);
}

void Run::write_output(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = stage_of(attempt);
  attempt.shuffle_times.write = now_ - attempt.began;
  const double shuffled = stage.plan.partitions > 0 && !model_.shuffle.mode ? stage.bytes_per_task : 0;
  const double output = static_cast<double>(stage.spec->output_bytes) / stage.spec->tasks;
  std::vector<std::uint32_t> copies;
  if (output > 0 && model_.storage.output_replicas > 1) {
    copies = job_of(attempt).placement->copies(attempt.machine, model_.storage.output_replicas - 1);
    std::erase_if(copies, [this](std::uint32_t copy) { return !machines_[copy].alive; });
  }
  if (!start_move(slot, machines_.write(attempt.machine, shuffled + output, output, copies))) written(slot);
}

void Run::written(Slot slot) {
  Attempt& attempt = attempts_[slot];
  master::TaskFinished event;
  event.attempt = attempt.id;
  event.node = machines_[attempt.machine].id;
  const StageSpec& spec = *stage_of(attempt).spec;
  if (spec.written.empty() || stage_of(attempt).plan.partitions != spec.written.front().size()) {
    event.output = row_of(stage_of(attempt));
  } else {
    for (const std::uint64_t bytes : spec.written[attempt.id.task.index])
      event.output.push_back({bytes, static_cast<std::uint32_t>(bytes / 100)});
    event.sample_histogram = spec.sample_histogram;
  }
  event.input_bytes = spec.read.empty() ? attempt.input_bytes : spec.read[attempt.id.task.index];
  if (model_.shuffle.mode) event.shuffle_times = attempt.shuffle_times;
  if (service_) keep_output(attempt);
  attempt.room = {};
  report(slot, std::move(event));
}

}  // namespace weft::simulator

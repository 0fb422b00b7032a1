// The work of an attempt on its machine, alone or beside others, and what it writes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/attributes.hpp"
#include "engine/simulator/tasks.hpp"

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

/// How fast nodes of this group work on tasks of the stage. On nodes that lend devices, what is faster on a device is so only for a
/// task that holds one.
double speed(const StageSpec& stage, const NodeGroup& group, bool device) {
  double speedup = 0;
  for (const Speedup& one : stage.speedups) {
    if (one.attribute == kAcceleratorAttribute && group.capacity.accelerator > 0 && !device) continue;
    const auto attribute = group.attributes.find(one.attribute);
    if (attribute != group.attributes.end() && attribute->second == one.value) speedup = std::max(speedup, one.factor);
  }
  return speedup > 0 ? group.speed * speedup : group.speed;
}

}  // namespace

void Tasks::work(Slot slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::working;
  if (std::exchange(attempt.fetch, nullptr)) attempt.shuffle_times.read = world_.now - attempt.began;
  if (world_.model.shuffle.mode) write_while_working(slot);
  const StageRun& stage = world_.stage_of(attempt);
  const std::vector<Time>& durations = stage.spec->durations;
  const Time duration = attempt.failure != nullptr ? attempt.failure->after
                        : durations.empty()        ? stage.spec->duration
                                                   : durations[attempt.id.task.index];
  const Machine& machine = world_.machines[attempt.machine];
  const double now = world_.contention ? 1 : machine.speed;  // contention has its own
  const double factor = attempt.factor / (speed(*stage.spec, *machine.group, attempt.device) * now);
  const Time takes = factor == 1 ? duration : Time(std::llround(static_cast<double>(duration.count()) * factor));
  if (!world_.contention) {
    attempt.work_ends = world_.now + takes;
    return world_.agenda.add(attempt.work_ends, {What::work_done, slot, attempt.generation});
  }
  world_.contention->end(world_.now, attempt.machine, slot);  // what it loaded while it fetched
  world_.contention->begin(world_.now, attempt.machine, slot, load_of(attempt), takes);
  world_.note_next_worked(attempt.machine);
}

/// Does nothing when the machine changed its speed since this was put on the agenda: then the agenda has another entry.
void Tasks::work_done(Slot slot, std::uint32_t generation) {
  const Attempt* attempt = attempts_.find(slot, generation);
  if (attempt != nullptr && attempt->phase == Phase::working && attempt->work_ends == world_.now) worked(slot);
}

void Tasks::change_speed(std::uint32_t index, double speed) {
  Machine& machine = world_.machines[index];
  const double slower = std::exchange(machine.speed, speed) / speed;
  if (world_.contention) {
    world_.contention->set_speed(world_.now, index, speed);
    return world_.note_next_worked(index);
  }
  for (const Slot slot : machine.attempts) {
    Attempt& attempt = attempts_[slot];
    if (attempt.phase != Phase::working) continue;
    const Time left = attempt.work_ends - world_.now;
    attempt.work_ends = world_.now + Time(std::llround(static_cast<double>(left.count()) * slower));
    world_.agenda.add(attempt.work_ends, {What::work_done, slot, attempt.generation});
  }
}

/// The load that it puts on its node while it works.
const schedulers::Resources& Tasks::load_of(const Attempt& attempt) {
  const StageRun& stage = world_.stage_of(attempt);
  if (stage.spec->load != schedulers::Resources()) return stage.spec->load;
  const schedulers::JobHints& hints = world_.job_of(attempt).spec->hints;
  const auto& profile = stage.spec->parents.empty() ? hints.map_profile : hints.reduce_profile;
  return profile ? *profile : stage.plan.demand;
}

void Tasks::works_done(std::uint32_t machine, std::uint64_t turn) {
  const std::vector<Slot> slots = world_.contention->done(world_.now, machine, turn);
  for (Slot slot : slots) world_.contention->end(world_.now, machine, slot);
  if (!slots.empty()) world_.note_next_worked(machine);
  for (Slot slot : slots) worked(slot);
}

void Tasks::worked(Slot slot) {
  Attempt& attempt = attempts_[slot];
  if (attempt.failure != nullptr) {
    ++world_.stage_of(attempt).failed[attempt.id.task.index];
    const bool environment = attempt.failure->environment;
    return fail(slot, environment ? master::FailureKind::environment : master::FailureKind::user_code, "failed as recorded");
  }
  if (attempt.fails) return fail(slot, master::FailureKind::user_code, "simulated failure");
  attempt.began = world_.now;
  attempt.phase = Phase::writing;
  if (!attempt.writing) write_output(slot);
}

/// An output for which there is no memory goes to disk from the start, beside the work. Bytes that the page cache takes need no
/// wait.
void Tasks::write_while_working(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = world_.stage_of(attempt);
  if (!world_.flows() || stage.plan.partitions == 0 || static_cast<double>(attempt.room.bytes()) >= stage.bytes_per_task) return;
  const double left = transfers_.write_behind(attempt.machine, stage.bytes_per_task);
  if (left <= 0) return;
  attempt.writing = true;
  transfers_.use_disk(attempt.machine, left, true, [this, slot, generation = attempt.generation](bool) {
    Attempt* writer = attempts_.find(slot, generation);
    if (writer == nullptr) return;
    writer->writing = false;
    if (writer->phase == Phase::writing) write_output(slot);
  });
}

void Tasks::write_output(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = world_.stage_of(attempt);
  attempt.shuffle_times.write = world_.now - attempt.began;
  const double shuffled = stage.plan.partitions > 0 && !world_.model.shuffle.mode ? stage.bytes_per_task : 0;
  const double output = static_cast<double>(stage.spec->output_bytes) / stage.spec->tasks;
  std::vector<std::uint32_t> replicas;
  if (output > 0 && world_.model.storage.output_replicas > 1) {
    replicas = world_.job_of(attempt).placement->replicas(attempt.machine, world_.model.storage.output_replicas - 1);
    std::erase_if(replicas, [this](std::uint32_t machine) { return !world_.machines[machine].alive; });
  }
  if (!attempts_.start_move(slot, world_.machines.write(attempt.machine, shuffled + output, output, replicas))) written(slot);
}

void Tasks::written(Slot slot) {
  Attempt& attempt = attempts_[slot];
  master::TaskFinished event;
  event.attempt = attempt.id;
  event.node = world_.machines[attempt.machine].id;
  event.device = attempt.device;
  StageRun& stage = world_.stage_of(attempt);
  const StageSpec& spec = *stage.spec;
  if (!stage.writes_as_recorded()) {
    event.output = row_of(stage);
  } else {
    for (const std::uint64_t bytes : spec.written[attempt.id.task.index])
      event.output.push_back({bytes, static_cast<std::uint32_t>(bytes / 100)});
    event.sample_histogram = spec.sample_histogram;
  }
  event.input_bytes = spec.read.empty() ? attempt.input_bytes : spec.read[attempt.id.task.index];
  if (world_.model.shuffle.mode) event.shuffle_times = attempt.shuffle_times;
  if (service_) keep_output(attempt);
  attempt.room = {};
  report(slot, std::move(event));
}

void Tasks::keep_output(const Attempt& attempt) {
  const StageRun& stage = world_.stage_of(attempt);
  if (stage.plan.partitions == 0) return;
  const TaskId& task = attempt.id.task;
  const auto bytes = static_cast<std::uint64_t>(stage.bytes_per_task);
  service_->put(attempt.machine, {task.job, ShuffleId(task.stage.value()), task.index, attempt.id.attempt}, bytes,
                attempt.room.bytes() >= bytes);
}

void Tasks::drop_prefetched(const Attempt& attempt) {
  const TaskId& task = attempt.id.task;
  for (std::uint32_t parent : world_.stage_of(attempt).spec->parents) {
    if (!world_.stage_at(attempt, parent).plan.shared) service_->drop(attempt.machine, task.job, ShuffleId(parent), task.index);
  }
}

}  // namespace weft::simulator

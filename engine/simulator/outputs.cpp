#include "engine/simulator/outputs.hpp"

#include <utility>

namespace weft::simulator {

bool Outputs::add(StageRun& stage, const Attempt& attempt) {
  Output output;
  output.map = attempt.id.task.index;
  if (const std::uint32_t before = stage.latest[output.map]; before > 0 && stage.outputs[before - 1].there)
    remove(stage, before - 1);
  output.attempt = attempt.id.attempt;
  output.machine = attempt.machine;
  output.node = world_.machines[attempt.machine].id;
  output.made_in = world_.now - attempt.launched;
  if (world_.model.faults.lost_outputs > 0) {
    Random random = world_.random_for(attempt.id, 0xd1342543de82ef95ULL);
    output.readable = !random.chance(world_.model.faults.lost_outputs);
  }
  return place(stage, output);
}

/// From now on it is the latest of its map.
bool Outputs::place(StageRun& stage, const Output& output) {
  stage.outputs.push_back(output);
  stage.latest[output.map] = static_cast<std::uint32_t>(stage.outputs.size());
  if (!output.there) return false;
  stage.on_machine.add(output.machine);
  ++stage.there;
  if (!output.readable) ++stage.unreadable;
  return !world_.flows() && stage.complete();
}

void Outputs::lost(JobRun& job, const shuffle::FetchFailure& failure) {
  StageRun& stage = job.stages[failure.shuffle.value()];
  const std::uint32_t latest = stage.latest[failure.map];
  if (latest == 0) return;
  const Output& output = stage.outputs[latest - 1];
  if (output.there && output.attempt == failure.map_attempt) remove(stage, latest - 1);
}

void Outputs::remove(StageRun& stage, std::uint32_t position) {
  Output& output = stage.outputs[position];
  output.there = false;
  stage.on_machine.remove(output.machine);
  --stage.there;
  if (!output.readable) --stage.unreadable;
}

void Outputs::machine_gone(std::uint32_t machine) {
  for (JobRun& job : world_.jobs) {
    if (!job.running) continue;
    for (StageRun& stage : job.stages) {
      if (!stage.on_machine.contains(machine)) continue;
      for (std::uint32_t i = 0; i < stage.outputs.size(); ++i) {
        if (stage.outputs[i].there && stage.outputs[i].machine == machine) remove(stage, i);
      }
    }
  }
}

// ---- replicas, from the machine that wrote an output to another one ----------------------------------------------------

void Outputs::replicate(const master::ReplicateOutput& command) {
  const std::size_t index = World::index_of(command.job);
  const std::uint32_t from = world_.machine_of_node[command.output.node.value()], to = world_.machine_of_node[command.node.value()];
  const master::OutputReplica copy{command.node, command.job, command.shuffle, command.output.map, command.output.attempt};
  if (!world_.machines[to].alive || world_.machines[to].id != command.node) return;  // the master will know soon
  const StageRun& stage = world_.jobs[index].stages[command.shuffle.value()];
  const Output& output = stage.outputs[stage.latest[command.output.map] - 1];
  if (!output.there || !output.readable) return master_.apply(master::ReplicaFailed{copy, "the output cannot be read"});
  Move move = world_.machines.fetch({{from, stage.bytes_per_task * world_.model.shuffle.compressed}}, to);
  if (!world_.flows() || move.bytes <= 0) {
    transfers_.count(index, move, 1);
    return master_.apply(master::OutputReplicated{copy});
  }
  const auto bytes = static_cast<std::uint64_t>(stage.bytes_per_task);
  transfers_.start({index, from, to, std::move(move), [this, copy, to, bytes](bool whole) { replicated(copy, to, bytes, whole); }});
}

void Outputs::replicated(const master::OutputReplica& copy, std::uint32_t to, std::uint64_t bytes, bool whole) {
  if (!whole) {
    if (world_.machines[to].alive && world_.job_of(copy.job).running)
      master_.apply(master::ReplicaFailed{copy, "its source is gone"});
    return;
  }
  const shuffle::SegmentKey key{copy.job, copy.shuffle, copy.map, copy.attempt};
  if (!service_ || service_->put_in_memory(to, key, bytes)) return master_.apply(master::OutputReplicated{copy});
  transfers_.use_disk(to, static_cast<double>(bytes), true, [this, copy, key, to, bytes](bool written) {
    if (!written || !world_.job_of(copy.job).running) return;
    service_->put(to, key, bytes, false);
    master_.apply(master::OutputReplicated{copy});
  });
}

bool Outputs::move(StageRun& stage, const master::OutputMoved& command) {
  const std::uint32_t latest = stage.latest[command.output.map];
  if (stage.outputs[latest - 1].there) remove(stage, latest - 1);
  Output& before = stage.outputs[latest - 1];
  Output output = before;
  before.counted = false;
  before.made_in = Time(0);
  output.node = command.output.node;
  output.machine = world_.machine_of_node[output.node.value()];
  output.readable = true;
  output.there = world_.machines[output.machine].alive && world_.machines[output.machine].id == output.node;
  return place(stage, output);
}

}  // namespace weft::simulator

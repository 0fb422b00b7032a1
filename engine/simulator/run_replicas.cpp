// Replicas of map outputs, on their way from the machine that wrote them to another one.
#include <utility>

#include "engine/simulator/run.hpp"

namespace weft::simulator {

void Run::copy_output(const master::ReplicateOutput& command) {
  const std::size_t index = command.job.value() - 1;
  const std::uint32_t from = machine_of_node_[command.output.node.value()], to = machine_of_node_[command.node.value()];
  const master::OutputCopy copy{command.node, command.job, command.shuffle, command.output.map, command.output.attempt};
  if (!machines_[to].alive || machines_[to].id != command.node) return;  // the master will hear
  const StageRun& stage = jobs_[index].stages[command.shuffle.value()];
  const Output& output = stage.outputs[stage.latest[command.output.map] - 1];
  if (!output.there || !output.readable) return apply(master::CopyFailed{copy, "the output cannot be read"});
  Move move = machines_.fetch({{from, stage.bytes_per_task * model_.shuffle.compressed}}, to);
  if (!flows() || move.bytes <= 0) {
    count_traffic(index, move, 1);
    return apply(master::OutputReplicated{copy});
  }
  const auto bytes = static_cast<std::uint64_t>(stage.bytes_per_task);
  transfer({index, from, to, std::move(move), [this, copy, to, bytes](bool whole) { copied(copy, to, bytes, whole); }});
}

void Run::copied(const master::OutputCopy& copy, std::uint32_t to, std::uint64_t bytes, bool whole) {
  if (!whole) {
    if (machines_[to].alive && job_of(copy.job).running) apply(master::CopyFailed{copy, "its source is gone"});
    return;
  }
  const shuffle::SegmentKey key{copy.job, copy.shuffle, copy.map, copy.attempt};
  if (!service_ || service_->put_in_memory(to, key, bytes)) return apply(master::OutputReplicated{copy});
  use_disk(to, static_cast<double>(bytes), true, [this, copy, key, to, bytes](bool written) {
    if (!written || !job_of(copy.job).running) return;
    service_->put(to, key, bytes, false);
    apply(master::OutputReplicated{copy});
  });
}

/// The output is another one from now on, with the same history.
void Run::move_output(const master::OutputMoved& command) {
  JobRun& job = jobs_[command.job.value() - 1];
  StageRun& stage = job.stages[command.shuffle.value()];
  const std::uint32_t latest = stage.latest[command.output.map];
  if (stage.outputs[latest - 1].there) remove_output(stage, latest - 1);
  Output& before = stage.outputs[latest - 1];
  Output output = before;
  before.counted = false;
  before.made_in = Time(0);
  output.node = command.output.node;
  output.machine = machine_of_node_[output.node.value()];
  output.readable = true;
  output.there = machines_[output.machine].alive && machines_[output.machine].id == output.node;
  place_output(job, stage, output);
}

}  // namespace weft::simulator

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
  Move move = machines_.fetch({{from, stage.bytes_per_task}}, to);
  if (!flows() || move.bytes <= 0) {
    count_traffic(index, move, 1);
    return apply(master::OutputReplicated{copy});
  }
  const FlowNetwork::Flow flow = network_.start(now_, move.bytes, std::exchange(move.uses, {}));
  copies_.emplace(flow, Copying{copy, from, to, std::move(move)});
}

void Run::copied(const Copying& copying) {
  count_traffic(copying.copy.job.value() - 1, copying.move, 1);
  apply(master::OutputReplicated{copying.copy});
}

/// Those that `gone` says end where they are.
template <class Gone>
void Run::break_copies(Gone gone) {
  for (auto at = copies_.begin(); at != copies_.end();) {
    if (!gone(at->second)) {
      ++at;
      continue;
    }
    const Copying copying = std::move(at->second);
    const double bytes = network_.stop(now_, at->first);
    at = copies_.erase(at);
    count_traffic(copying.copy.job.value() - 1, copying.move, bytes / copying.move.bytes);
    if (machines_[copying.to].alive && jobs_[copying.copy.job.value() - 1].running)
      apply(master::CopyFailed{copying.copy, "its source is gone"});
  }
}

void Run::copies_gone(std::uint32_t machine) {
  break_copies([machine](const Copying& copying) { return copying.from == machine || copying.to == machine; });
}

void Run::copies_over(JobId job) {
  break_copies([job](const Copying& copying) { return copying.copy.job == job; });
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

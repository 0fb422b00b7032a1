// The world of the shuffle services: moves that no attempt makes itself, disks behind page caches, and what attempts leave and find
// there.
#include <algorithm>
#include <utility>

#include "engine/simulator/run.hpp"

namespace weft::simulator {

namespace {
/// A disk writes back from the page cache when nobody waits for it.
constexpr double kBehind = 1e-6;
}  // namespace

void Run::transfer(Transfer what, double weight) {
  const FlowNetwork::Flow flow = network_.start(now_, std::max(what.move.bytes, 1.0), std::exchange(what.move.uses, {}), weight);
  transfers_.emplace(flow, std::move(what));
}

void Run::transferred(const Transfer& transfer) {
  if (transfer.job) count_traffic(*transfer.job, transfer.move, 1);
  transfer.done(true);
}

void Run::forget_behind(const Transfer& transfer, FlowNetwork::Flow flow) {
  if (transfer.behind) std::erase(machines_[transfer.to].behind, flow);
}

/// Those that `gone` says end where they are.
template <class Gone>
void Run::break_transfers(Gone gone) {
  std::vector<Transfer> broken;  // first of all: what is told of them may begin others
  for (auto at = transfers_.begin(); at != transfers_.end();) {
    if (!gone(at->second)) {
      ++at;
      continue;
    }
    const double bytes = network_.stop(now_, at->first);
    if (at->second.job) count_traffic(*at->second.job, at->second.move, bytes / std::max(at->second.move.bytes, 1.0));
    forget_behind(at->second, at->first);
    broken.push_back(std::move(at->second));
    at = transfers_.erase(at);
  }
  for (const Transfer& transfer : broken) transfer.done(false);
}

void Run::transfers_gone(std::uint32_t machine) {
  break_transfers([machine](const Transfer& transfer) { return transfer.from == machine || transfer.to == machine; });
}

void Run::transfers_over(std::size_t job) {
  break_transfers([job](const Transfer& transfer) { return transfer.job == job; });
}

// ---- what the services need of the world ----------------------------------------------------------------------------

std::optional<std::uint32_t> Run::machine_of(NodeId node) const {
  const std::uint32_t machine = machine_of_node_[node.value()];
  return machines_[machine].alive && machines_[machine].id == node ? std::optional(machine) : std::nullopt;
}

std::optional<std::vector<std::uint64_t>> Run::blocks(std::uint32_t machine, const shuffle::FetchRequest& request) const {
  const JobRun& job = jobs_[request.job.value() - 1];
  if (!job.running) return std::nullopt;
  const StageRun& stage = job.stages[request.shuffle.value()];
  std::vector<std::uint64_t> bytes;
  for (const shuffle::MapAttempt& map : request.maps) {
    if (stage.latest[map.map] == 0) return std::nullopt;
    const Output& output = stage.outputs[stage.latest[map.map] - 1];
    if (!output.there || !output.readable || output.attempt != map.attempt || output.machine != machine) return std::nullopt;
    bytes.push_back(stage.row[request.partition].bytes);
  }
  return bytes;
}

void Run::fetch(JobId job, std::uint32_t from, std::uint32_t to, double bytes, Done done) {
  transfer({job.value() - 1, from, to, machines_.fetch({{from, bytes * model_.shuffle.compressed}}, to), std::move(done)});
}

void Run::use_disk(std::uint32_t machine, double bytes, bool write, Done done) {
  transfer({std::nullopt, machine, machine, machines_.disk(machine, bytes, write), std::move(done)});
}

void Run::begin_services(std::uint32_t machine) {
  const schedulers::Resources& capacity = machines_[machine].group->capacity;
  service_->join(machine, static_cast<std::uint32_t>(capacity.reduce_slots > 0 ? capacity.reduce_slots : capacity.cpu));
}

void Run::end_services(std::uint32_t machine) {
  if (service_) {
    for (Slot slot : machines_[machine].attempts) attempts_[slot].room = {};
    service_->close(machine);
  }
  transfers_gone(machine);
  if (service_) service_->erase(machine);
}

// ---- what attempts write and read -----------------------------------------------------------------------------------

/// A map's output goes to disk from the start when there is no memory for it: beside the work, for as long as the page cache does
/// not hold it.
void Run::write_while_working(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const StageRun& stage = stage_of(attempt);
  if (!flows() || stage.plan.partitions == 0 || static_cast<double>(attempt.room.bytes()) >= stage.bytes_per_task) return;
  const double left = write_behind(attempt.machine, stage.bytes_per_task);
  if (left <= 0) return;
  attempt.writing = true;
  use_disk(attempt.machine, left, true, [this, slot, generation = attempt.generation](bool) {
    Attempt* writer = find(slot, generation);
    if (writer == nullptr) return;
    writer->writing = false;
    if (writer->phase == Phase::writing) write_output(slot);
  });
}

/// The bytes for which the page cache has no room.
double Run::write_behind(std::uint32_t index, double bytes) {
  Machine& machine = machines_[index];
  double dirty = 0;
  for (FlowNetwork::Flow flow : machine.behind) dirty += transfers_.at(flow).move.bytes - network_.moved(now_, flow);
  const double cached = std::min(bytes, static_cast<double>(model_.shuffle.page_cache) - dirty);
  if (cached < 1) return bytes;
  Transfer behind{std::nullopt, index, index, machines_.disk(index, cached, true), [](bool) {}, true};
  const FlowNetwork::Flow flow = network_.start(now_, cached, std::exchange(behind.move.uses, {}), kBehind);
  transfers_.emplace(flow, std::move(behind));
  machine.behind.push_back(flow);
  return bytes - cached;
}

void Run::keep_output(const Attempt& attempt) {
  const StageRun& stage = stage_of(attempt);
  if (stage.plan.partitions == 0) return;
  const TaskId& task = attempt.id.task;
  const auto bytes = static_cast<std::uint64_t>(stage.bytes_per_task);
  service_->put(attempt.machine, {task.job, ShuffleId(task.stage.value()), task.index, attempt.id.attempt}, bytes,
                attempt.room.bytes() >= bytes);
}

void Run::drop_prefetched(const Attempt& attempt) {
  const TaskId& task = attempt.id.task;
  for (std::uint32_t parent : stage_of(attempt).spec->parents) {
    if (!stage_at(attempt, parent).plan.shared) service_->drop(attempt.machine, task.job, ShuffleId(parent), task.index);
  }
}

}  // namespace weft::simulator

#include "engine/simulator/services.hpp"

#include <utility>

namespace weft::simulator {

Services::Services(simulator::World& world, Transfers& transfers) : world_(world), transfers_(transfers) {
  const ShuffleModel& model = world.model.shuffle;
  if (model.mode == shuffle::Mode::memory)
    service_.emplace(static_cast<ShuffleService::World&>(*this), model, world.machines.count());
}

void Services::add_to(RunResult& result) const {
  if (!service_) return;
  result.prefetched = service_->prefetched();
  result.outputs_evicted_bytes = service_->outputs_evicted();
}

bool Services::far(std::uint32_t a, std::uint32_t b) const { return world_.machines.distance(a, b) == Machines::kFar; }

std::optional<std::uint32_t> Services::machine_of(NodeId node) const {
  const std::uint32_t machine = world_.machine_of_node[node.value()];
  return world_.machines[machine].alive && world_.machines[machine].id == node ? std::optional(machine) : std::nullopt;
}

std::optional<std::vector<std::uint64_t>> Services::blocks(std::uint32_t machine, const shuffle::FetchRequest& request) const {
  const JobRun& job = world_.job_of(request.job);
  if (!job.running) return std::nullopt;
  const StageRun& stage = job.stages[request.shuffle.value()];
  std::vector<std::uint64_t> bytes;
  for (const shuffle::MapAttempt& map : request.maps) {
    if (stage.latest[map.map] == 0) return std::nullopt;
    const Output& output = stage.outputs[stage.latest[map.map] - 1];
    if (!output.there || !output.readable || output.attempt != map.attempt || output.machine != machine) return std::nullopt;
    bytes.push_back(stage.block(map.map, request.partition));
  }
  return bytes;
}

void Services::fetch(JobId job, std::uint32_t from, std::uint32_t to, double bytes, bool asked, Done done) {
  Move move = world_.machines.fetch({{from, bytes * world_.model.shuffle.compressed}}, to);
  Transfer transfer{simulator::World::index_of(job), from, to, std::move(move), std::move(done)};
  asked ? void(transfers_.start(std::move(transfer))) : transfers_.ask(std::move(transfer));
}

void Services::use_disk(std::uint32_t machine, double bytes, bool write, Done done) {
  transfers_.use_disk(machine, bytes, write, std::move(done));
}

}  // namespace weft::simulator

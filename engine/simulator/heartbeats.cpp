#include "engine/simulator/heartbeats.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::simulator {

namespace {

bool nearly(double rate, double as) { return std::abs(rate - as) <= 1e-3 * as; }

}  // namespace

Time Heartbeats::next_beat(const Machine& machine) const {
  const auto interval = world_.model.heartbeat.count();
  const auto heartbeats = std::max<std::int64_t>(0, (world_.now - machine.phase).count() + interval - 1) / interval;
  const Time at = machine.phase + Time(heartbeats * interval);
  return at == machine.last_beat ? at + world_.model.heartbeat : at;
}

void Heartbeats::wake(std::uint32_t index) {
  Machine& machine = world_.machines[index];
  if (world_.model.heartbeat == Time(0) || machine.awake || !machine.alive) return;
  machine.awake = true;
  world_.agenda.add(next_beat(machine), {What::heartbeat, index, 0, machine.id.value()});
}

void Heartbeats::wake_free() {
  if (world_.model.heartbeat == Time(0) || !master_.wanted()) return;
  for (NodeId node : master_.view().free_nodes()) wake(world_.machine_of_node[node.value()]);
}

void Heartbeats::report(std::uint32_t index, Report report) {
  outbox_[index].push_back(std::move(report));
  wake(index);
}

std::vector<Heartbeats::Report> Heartbeats::begin(std::uint32_t index) {
  world_.machines[index].awake = false;
  world_.machines[index].last_beat = world_.now;
  return std::exchange(outbox_[index], {});
}

/// The next heartbeat is put on the agenda only if it can matter.
void Heartbeats::beat(std::uint32_t index) {
  Machine& machine = world_.machines[index];
  if (!machine.alive) return;
  master::WorkerHeartbeat heartbeat{machine.id};
  machine.reported_rate = rate_of(index);
  if (world_.contention) heartbeat.used = heartbeat.machine = measured(index);
  heartbeat.cross_rack = machine.reported_rate;
  master_.apply(std::move(heartbeat));
  master_.drain();
  const bool asks = master_.wanted() && master_.view().free_nodes().contains(machine.id);
  const bool measures = world_.contention && !machine.attempts.empty();
  if (asks || world_.flows() || measures || !outbox_[index].empty()) wake(index);
}

/// Attempts that read or fetch use the network; attempts that work use processors, disk and memory.
schedulers::Resources Heartbeats::measured(std::uint32_t index) {
  schedulers::Resources used = world_.contention->used(index);
  const schedulers::UplinkRate network = world_.machines.nic_rate(world_.network, index);
  used.network_out = network.up;
  used.network_in = network.down;
  return used;
}

/// The machine's equal part of its rack's uplink rate since its last heartbeat.
schedulers::UplinkRate Heartbeats::rate_of(std::uint32_t index) {
  if (!world_.flows()) return {};
  const auto& rack = world_.machines.racks()[world_.machines[index].rack];
  const auto alive = std::count_if(rack.begin(), rack.end(), [this](std::uint32_t i) { return world_.machines[i].alive; });
  const auto parts = static_cast<double>(std::max<std::ptrdiff_t>(1, alive));
  Machine& machine = world_.machines[index];
  const schedulers::UplinkRate rate = world_.machines.uplink_rate(world_.network, world_.now, machine.rack, machine.uplink);
  return {rate.up / parts, rate.down / parts};
}

void Heartbeats::report_rates() {
  for (std::uint32_t rack = 0; rack < world_.machines.racks().size(); ++rack) {
    const schedulers::UplinkRate rate = world_.machines.uplink_rate(world_.network, world_.now, rack, uplinks_[rack]);
    bool reported = false;
    for (std::uint32_t i : world_.machines.racks()[rack]) {
      Machine& machine = world_.machines[i];
      if (!machine.alive) continue;
      const schedulers::UplinkRate says = reported ? schedulers::UplinkRate{} : rate;
      reported = true;
      if (nearly(machine.reported_rate.up, says.up) && nearly(machine.reported_rate.down, says.down)) continue;
      machine.reported_rate = says;
      master::WorkerHeartbeat heartbeat{machine.id};
      heartbeat.cross_rack = says;
      master_.apply(std::move(heartbeat));
    }
  }
  world_.agenda.add(world_.now + world_.model.network.report_interval, {What::report});
}

}  // namespace weft::simulator

#include "engine/simulator/nodes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace weft::simulator {

void Nodes::start() {
  const ClusterModel& model = world_.model;
  Random phases(model.seed, 2);
  for (std::uint32_t i = 0; i < world_.machines.count(); ++i) {
    if (model.heartbeat > Time(0))
      world_.machines[i].phase = Time(static_cast<std::int64_t>(phases.below(static_cast<std::uint64_t>(model.heartbeat.count()))));
    join(i);
  }
  update_capacity();
  for (std::size_t i = 0; i < model.availability.size(); ++i)
    world_.agenda.add(model.availability[i].from, {What::availability, 0, 0, i});
  for (std::size_t i = 0; i < model.faults.nodes.size(); ++i) world_.agenda.add(model.faults.nodes[i].at, {What::fault, 0, 0, i});
  next_death();
}

schedulers::Resources Nodes::capacity_of(std::uint32_t index) const {
  const Machine& machine = world_.machines[index];
  return machine.available == 1 ? machine.group->capacity : machine.group->capacity * machine.available;
}

std::vector<schedulers::CapacityStep> Nodes::forecast(std::uint32_t index) const {
  std::vector<schedulers::CapacityStep> steps;
  const ForecastModel& expected = world_.model.forecast;
  Random errors(world_.model.seed, 5);  // the same for all nodes
  for (const Availability& step : expected.steps.empty() ? world_.model.availability : expected.steps) {
    const double error = 1 + expected.bias + expected.spread * (2 * errors.uniform() - 1);
    const schedulers::Resources available =
        world_.machines[index].group->capacity * std::clamp(step.part_of(index) * error, 0.0, 1.0);
    if (steps.empty() || steps.back().available != available) steps.push_back({step.from, available});
  }
  return steps;
}

void Nodes::update_capacity() {
  schedulers::Resources sum;
  for (std::uint32_t i = 0; i < world_.machines.count(); ++i) {
    if (world_.machines[i].alive) sum += capacity_of(i);
  }
  world_.accounts.set_capacity(sum);
}

void Nodes::join(std::uint32_t index) {
  Machine& machine = world_.machines[index];
  machine.id = NodeId(static_cast<std::uint32_t>(std::max<std::size_t>(1, world_.machine_of_node.size())));
  world_.machine_of_node.resize(machine.id.value() + 1, 0);
  world_.machine_of_node[machine.id.value()] = index;
  machine.alive = machine.known = true;
  machine.reported_rate = {};
  (void)world_.machines.uplink_rate(world_.network, world_.now, machine.rack, machine.uplink);  // it measures from now on
  master::WorkerJoined event;
  event.node = machine.id;
  event.name = event.host = machine.name;
  event.rack = world_.machines.rack_name(machine.rack);
  event.capacity = machine.group->capacity;
  event.attributes = machine.group->attributes;
  event.processors = machine.group->processors;
  event.forecast = forecast(index);
  event.rack_uplink = {world_.machines.uplink_capacity(), world_.machines.uplink_capacity()};
  if (const auto own = world_.model.network.rack_uplinks.find(machine.rack); own != world_.model.network.rack_uplinks.end())
    event.rack_uplink = own->second;
  if (service_) {
    const schedulers::Resources& capacity = machine.group->capacity;
    service_->join(index, static_cast<std::uint32_t>(capacity.reduce_slots > 0 ? capacity.reduce_slots : capacity.cpu));
    event.prefetch_bytes = service_->prefetch_bytes();
  }
  master_.apply(std::move(event));
  if (machine.available < 1) report_capacity(index);
  heartbeats_.wake(index);
  master_.drain();
}

void Nodes::report_capacity(std::uint32_t index) {
  master::WorkerHeartbeat heartbeat{world_.machines[index].id};
  heartbeat.capacity = capacity_of(index);
  master_.apply(std::move(heartbeat));
}

void Nodes::fault(const NodeFault& fault) {
  if (fault.speed > 0) return tasks_.change_speed(fault.node, fault.speed);
  if (world_.machines[fault.node].alive) die(fault.node, fault.silent, fault.repair);
}

void Nodes::next_death() {
  const FaultModel& faults = world_.model.faults;
  if (faults.between_deaths <= Time(0)) return;
  if (world_.now > Time(0)) {
    std::vector<std::uint32_t> alive;
    for (std::uint32_t i = 0; i < world_.machines.count(); ++i) {
      if (world_.machines[i].alive) alive.push_back(i);
    }
    const bool silent = deaths_.chance(faults.silent);
    const double wait = -std::log1p(-deaths_.uniform()) * static_cast<double>(faults.repair.count());
    if (!alive.empty())
      die(alive[deaths_.below(alive.size())], silent, faults.repair > Time(0) ? Time(std::max(1LL, std::llround(wait))) : Time(0));
  }
  const double until = -std::log1p(-deaths_.uniform()) * static_cast<double>(faults.between_deaths.count());
  world_.agenda.add(world_.now + Time(std::max(1LL, std::llround(until))), {What::death});
}

/// The attempts there and their outputs are gone. The master knows at once, or after the silence.
void Nodes::die(std::uint32_t index, bool silent, Time repair_after) {
  Machine& machine = world_.machines[index];
  machine.alive = false;
  ++count_;
  heartbeats_.clear(index);
  update_capacity();
  if (world_.contention) world_.contention->clear(index);
  tasks_.stall(index);
  const Time detection = silent ? world_.model.faults.detection : Time(0);
  if (repair_after > Time(0)) world_.agenda.add(world_.now + std::max(repair_after, detection + Time(1)), {What::repair, index});
  outputs_.machine_gone(index);
  if (silent) {
    world_.agenda.add(world_.now + detection, {What::silence, index, 0, machine.id.value()});
  } else {
    lose(index, "connection lost");
  }
  for (Slot slot : machine.attempts) attempts_[slot].room = {};
  if (service_) service_->close(index);
  transfers_.machine_gone(index);
  if (service_) service_->erase(index);
  tasks_.source_gone(index);
}

void Nodes::lose(std::uint32_t index, std::string reason) {
  Machine& machine = world_.machines[index];
  machine.known = false;
  tasks_.machine_lost(index);
  master_.apply(master::WorkerLost{machine.id, std::move(reason)});
}

void Nodes::silence(std::uint32_t index, NodeId node) {
  if (!world_.machines[index].known || world_.machines[index].id != node) return;
  lose(index, fmt::format("not heard of for {:.1f} s", in_seconds(world_.model.faults.detection)));
}

void Nodes::repair(std::uint32_t index) {
  if (world_.machines[index].alive || world_.machines[index].known) return;
  world_.machines[index].alive = true;
  update_capacity();  // before what the master makes of it
  join(index);
}

void Nodes::set_availability(std::size_t step) {
  for (std::uint32_t i = 0; i < world_.machines.count(); ++i) {
    Machine& machine = world_.machines[i];
    const double part = world_.model.availability[step].part_of(i);
    if (machine.available == part) continue;
    machine.available = part;
    if (!machine.alive) continue;
    report_capacity(i);
    heartbeats_.wake(i);
  }
  update_capacity();
}

}  // namespace weft::simulator

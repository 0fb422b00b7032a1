// Machines: joining, dying, coming back, heartbeats, capacity in time.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/simulator/run.hpp"

namespace weft::simulator {
namespace {

bool nearly(double rate, double as) { return std::abs(rate - as) <= 1e-3 * as; }

}  // namespace

schedulers::Resources Run::capacity_of(std::uint32_t index) const {
  const Machine& machine = machines_[index];
  return machine.available == 1 ? machine.group->capacity : machine.group->capacity * machine.available;
}

std::vector<schedulers::CapacityStep> Run::forecast(std::uint32_t index) const {
  std::vector<schedulers::CapacityStep> steps;
  const ForecastModel& told = model_.forecast;
  Random errors(model_.seed, 5);  // the same for all nodes
  for (const Availability& step : told.steps.empty() ? model_.availability : told.steps) {
    const double error = 1 + told.bias + told.spread * (2 * errors.uniform() - 1);
    const schedulers::Resources available = machines_[index].group->capacity * std::clamp(step.part_of(index) * error, 0.0, 1.0);
    if (steps.empty() || steps.back().available != available) steps.push_back({step.from, available});
  }
  return steps;
}

/// Why some task of the job has no place for as long as the cluster's availability says, if so; that of nodes with all they have is
/// the master's business.
std::optional<std::string> Run::never_fits(const JobRun& job) const {
  const std::vector<Availability>& steps = model_.availability;
  if (steps.empty() || steps.front().from > now_) return std::nullopt;
  for (const StageRun& stage : job.stages) {
    std::uint32_t first = 0;  // of the group
    bool whole = false, fits = false;
    for (const NodeGroup& group : model_.groups) {
      double most = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i + 1 == steps.size() || steps[i + 1].from > now_) most = std::max(most, steps[i].part_of(first));
      }
      whole = whole || schedulers::fits(stage.plan.demand, {}, group.capacity);
      fits = fits || (most > 0 && schedulers::fits(stage.plan.demand, {}, group.capacity * most));
      first += group.count;
    }
    if (whole && !fits)
      return fmt::format("stage {}: from {:.0f} s on no node has so much available for a task: {}", stage.spec->name,
                         std::chrono::duration<double>(now_).count(), schedulers::to_string(stage.plan.demand));
  }
  return std::nullopt;
}

void Run::update_capacity() {
  schedulers::Resources sum;
  for (std::uint32_t i = 0; i < machines_.count(); ++i) {
    if (machines_[i].alive) sum += capacity_of(i);
  }
  accounts_.set_capacity(sum);
}

void Run::join(std::uint32_t index) {
  Machine& machine = machines_[index];
  machine.id = NodeId(static_cast<std::uint32_t>(std::max<std::size_t>(1, machine_of_node_.size())));
  machine_of_node_.resize(machine.id.value() + 1, 0);
  machine_of_node_[machine.id.value()] = index;
  machine.alive = machine.known = true;
  machine.reported_rate = {};
  master::WorkerJoined event;
  event.node = machine.id;
  event.name = event.host = machine.name;
  event.rack = machines_.rack_name(machine.rack);
  event.capacity = machine.group->capacity;
  event.attributes = machine.group->attributes;
  event.forecast = forecast(index);
  event.rack_uplink = {machines_.uplink_capacity(), machines_.uplink_capacity()};
  if (const auto own = model_.network.rack_uplinks.find(machine.rack); own != model_.network.rack_uplinks.end())
    event.rack_uplink = own->second;
  if (service_) {
    begin_services(index);
    event.prefetch_bytes = service_->prefetch_bytes();
  }
  apply(std::move(event));
  if (machine.available < 1) {
    master::WorkerHeartbeat heartbeat{machine.id};
    heartbeat.capacity = capacity_of(index);
    apply(std::move(heartbeat));
  }
  wake(index);
  drain();
}

void Run::next_death() {
  const FaultModel& faults = model_.faults;
  if (faults.between_deaths <= Time(0)) return;
  if (now_ > Time(0)) {
    std::vector<std::uint32_t> alive;
    for (std::uint32_t i = 0; i < machines_.count(); ++i) {
      if (machines_[i].alive) alive.push_back(i);
    }
    const bool silent = deaths_.chance(faults.silent);
    const double wait = -std::log1p(-deaths_.uniform()) * static_cast<double>(faults.repair.count());
    if (!alive.empty())
      die(alive[deaths_.below(alive.size())], silent, faults.repair > Time(0) ? Time(std::max(1LL, std::llround(wait))) : Time(0));
  }
  const double until = -std::log1p(-deaths_.uniform()) * static_cast<double>(faults.between_deaths.count());
  agenda_.add(now_ + Time(std::max(1LL, std::llround(until))), {What::death});
}

/// What ran there is gone, and so is what its tasks wrote; the master hears of it at once or by the silence.
void Run::die(std::uint32_t index, bool silent, Time repair_after) {
  Machine& machine = machines_[index];
  machine.alive = false;
  ++deaths_count_;
  outbox_[index].clear();
  update_capacity();
  if (contention_) contention_->clear(index);
  for (Slot slot : machine.attempts) {
    break_move(slot);
    if (attempts_[slot].phase == Phase::waiting) stop_waiting(slot);
    attempts_[slot].phase = Phase::stalled;
    ++attempts_[slot].generation;
  }
  const Time detection = silent ? model_.faults.detection : Time(0);
  if (repair_after > Time(0)) agenda_.add(now_ + std::max(repair_after, detection + Time(1)), {What::repair, index});
  for (JobRun& job : jobs_) {
    if (!job.running) continue;
    for (StageRun& stage : job.stages) {
      if (!stage.on_machine.contains(index)) continue;
      for (std::uint32_t i = 0; i < stage.outputs.size(); ++i) {
        if (stage.outputs[i].there && stage.outputs[i].machine == index) remove_output(stage, i);
      }
    }
  }
  if (silent) {
    agenda_.add(now_ + detection, {What::silence, index, 0, machine.id.value()});
  } else {
    lose(index, "connection lost");
  }
  end_services(index);
  sources_gone(index);
}

void Run::lose(std::uint32_t index, std::string reason) {
  Machine& machine = machines_[index];
  machine.known = false;
  while (!machine.attempts.empty()) {
    accounts_.job(index_of(attempts_[machine.attempts.back()])).failed_attempts++;
    end(machine.attempts.back(), AttemptOutcome::lost);
  }
  apply(master::WorkerLost{machine.id, std::move(reason)});
}

void Run::repair(std::uint32_t index) {
  if (machines_[index].alive || machines_[index].known) return;
  machines_[index].alive = true;
  update_capacity();  // before what the master makes of it
  join(index);
}

void Run::set_availability(std::size_t step) {
  for (std::uint32_t i = 0; i < machines_.count(); ++i) {
    Machine& machine = machines_[i];
    const double part = model_.availability[step].part_of(i);
    if (machine.available == part) continue;
    machine.available = part;
    if (!machine.alive) continue;
    master::WorkerHeartbeat heartbeat{machine.id};
    heartbeat.capacity = capacity_of(i);
    apply(std::move(heartbeat));
    wake(i);
  }
  update_capacity();
}

// ---- heartbeats -----------------------------------------------------------------------------------------------------

Time Run::next_beat(const Machine& machine) const {
  const auto interval = model_.heartbeat.count();
  const auto heartbeats = std::max<std::int64_t>(0, (now_ - machine.phase).count() + interval - 1) / interval;
  const Time at = machine.phase + Time(heartbeats * interval);
  return at == machine.last_beat ? at + model_.heartbeat : at;
}

void Run::wake(std::uint32_t index) {
  Machine& machine = machines_[index];
  if (model_.heartbeat == Time(0) || machine.awake || !machine.alive) return;
  machine.awake = true;
  agenda_.add(next_beat(machine), {What::heartbeat, index, 0, machine.id.value()});
}

void Run::wake_free() {
  if (model_.heartbeat == Time(0) || !wanted()) return;
  for (NodeId node : core_.view().free_nodes()) wake(machine_of_node_[node.value()]);
}

/// Reports the ends since the last one, and asks for tasks. The next one is put down only if it can matter.
void Run::heartbeat(std::uint32_t index) {
  Machine& machine = machines_[index];
  machine.awake = false;
  machine.last_beat = now_;
  if (!machine.alive) return;
  for (Report& ended : std::exchange(outbox_[index], {})) {
    if (find(ended.slot, ended.generation) == nullptr) continue;
    deliver(ended.slot, std::move(ended.event));
    drain();
  }
  master::WorkerHeartbeat heartbeat{machine.id};
  machine.reported_rate = rate_of(index);
  if (contention_) heartbeat.used = heartbeat.machine = measured(index);
  heartbeat.cross_rack = machine.reported_rate;
  apply(std::move(heartbeat));
  drain();
  const bool asks = wanted() && core_.view().free_nodes().contains(machine.id);
  const bool measures = contention_ && !machine.attempts.empty();
  if (asks || flows() || measures || !outbox_[index].empty()) wake(index);
}

/// By the phases of what runs there: who reads or fetches uses the network, who works processors, disk and memory.
schedulers::Resources Run::measured(std::uint32_t index) {
  schedulers::Resources used = contention_->used(index);
  const schedulers::UplinkRate network = machines_.nic_rate(network_, index);
  used.network_out = network.up;
  used.network_in = network.down;
  return used;
}

/// An equal part of what its rack moves over its uplink.
schedulers::UplinkRate Run::rate_of(std::uint32_t index) {
  if (!flows()) return {};
  const auto& rack = machines_.racks()[machines_[index].rack];
  const auto alive = std::count_if(rack.begin(), rack.end(), [this](std::uint32_t i) { return machines_[i].alive; });
  const auto parts = static_cast<double>(std::max<std::ptrdiff_t>(1, alive));
  const schedulers::UplinkRate rate = machines_.uplink_rate(network_, machines_[index].rack);
  return {rate.up / parts, rate.down / parts};
}

/// Without heartbeats, a node of each rack tells the rate of all of it when it has changed.
void Run::report_rates() {
  for (std::uint32_t rack = 0; rack < machines_.racks().size(); ++rack) {
    const schedulers::UplinkRate rate = machines_.uplink_rate(network_, rack);
    bool reported = false;
    for (std::uint32_t i : machines_.racks()[rack]) {
      Machine& machine = machines_[i];
      if (!machine.alive) continue;
      const schedulers::UplinkRate says = reported ? schedulers::UplinkRate{} : rate;
      reported = true;
      if (nearly(machine.reported_rate.up, says.up) && nearly(machine.reported_rate.down, says.down)) continue;
      machine.reported_rate = says;
      master::WorkerHeartbeat heartbeat{machine.id};
      heartbeat.cross_rack = says;
      apply(std::move(heartbeat));
    }
  }
  agenda_.add(now_ + model_.network.report_interval, {What::report});
}

}  // namespace weft::simulator

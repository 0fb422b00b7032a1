#include "engine/master/nodes/colocated_load.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace weft::master {
namespace {

using namespace std::chrono_literals;

constexpr double kSmoothing = 2;               // seconds
constexpr schedulers::Time kLongestGap = 10s;  // between measurements: an older one says nothing any more
constexpr schedulers::Time kBeforeMore = 5s;   // after any change
constexpr double kSpared = 0.25;               // of a slot, that others may use when it comes back
constexpr double kTolerated = 0.5;             // of a slot, before it goes
constexpr double kMemoryStep = 1.0 / 16;       // of a worker's memory: less is no change
constexpr double kLeastMemory = 1;             // bytes: 0 would stand for memory that is not accounted for

}  // namespace

void ColocatedLoad::joined(NodeId node, const std::string& host, const schedulers::Resources& nominal, const Machine& machine) {
  if (!(machine.processors > 0) || !(machine.memory > 0)) return;
  workers_[node] = {host, nominal, {}, nominal.cpu, nominal.memory, {}, schedulers::Time(0)};
  Host& of = hosts_[host];
  of.machine = machine;
  of.slots += nominal.cpu;
  of.memory += nominal.memory;
  ++of.workers;
}

void ColocatedLoad::left(NodeId node) {
  const auto found = workers_.find(node);
  if (found == workers_.end()) return;
  const auto host = hosts_.find(found->second.host);
  Host& of = host->second;
  of.slots -= found->second.nominal.cpu;
  of.memory -= found->second.nominal.memory;
  of.used_cpu -= found->second.used.cpu;
  of.used_memory -= found->second.used.memory;
  if (--of.workers == 0) hosts_.erase(host);
  workers_.erase(found);
}

void ColocatedLoad::measured(NodeId node, const schedulers::Resources& used, const schedulers::Resources& machine,
                             schedulers::Time now) {
  const auto found = workers_.find(node);
  if (found == workers_.end() || machine.memory == 0) return;  // the first heartbeats may have measured nothing yet
  Worker& worker = found->second;
  Host& host = hosts_.at(worker.host);
  host.used_cpu += used.cpu - worker.used.cpu;
  host.used_memory += used.memory - worker.used.memory;
  worker.used = used;
  const double cpu = std::clamp(machine.cpu - host.used_cpu, 0.0, host.machine.processors);
  const double memory = std::clamp(machine.memory - host.used_memory, 0.0, host.machine.memory);
  const bool first = !host.measured || now - *host.measured > kLongestGap;
  const double part = first ? 0 : 1 - std::exp(-in_seconds(now - *host.measured) / kSmoothing);
  if (!host.measured) host.others_memory = memory;
  host.measured = now;
  host.others_cpu += part * (cpu - host.others_cpu);
  host.others_memory += part * (memory - host.others_memory);
  decide(host, worker, now);
}

void ColocatedLoad::decide(const Host& host, Worker& worker, schedulers::Time now) {
  const double free_cpu = host.machine.processors - host.others_cpu;
  const double per_slot = std::min(1.0, host.machine.processors / host.slots);  // processors
  const double room = std::clamp(free_cpu / per_slot * worker.nominal.cpu / host.slots, 0.0, worker.nominal.cpu);
  const bool may_grow = now - worker.changed >= kBeforeMore;
  double slots = worker.slots;
  if (room < slots - kTolerated) slots = std::floor(room + kTolerated);
  if (room + kSpared >= slots + 1 && may_grow) slots = std::floor(room + kSpared);
  if (room + kSpared >= worker.nominal.cpu && may_grow) slots = worker.nominal.cpu;  // which may be no whole number

  double memory = worker.memory;
  if (host.memory > 0) {
    const double free_memory = (host.machine.memory - host.others_memory) * worker.nominal.memory / host.memory;
    const double step = kMemoryStep * worker.nominal.memory;
    const double fits = std::clamp(std::floor(free_memory / step) * step, kLeastMemory, worker.nominal.memory);
    if (fits < memory || (fits >= memory + 2 * step && may_grow) || (fits == worker.nominal.memory && may_grow)) memory = fits;
  }
  if (slots == worker.slots && memory == worker.memory) return;
  worker.slots = slots;
  worker.memory = memory;
  worker.changed = now;
  worker.why = fmt::format("others on its machine use {:.1f} of {:g} processors and {} of {}", host.others_cpu,
                           host.machine.processors, human_bytes(static_cast<std::uint64_t>(host.others_memory)),
                           human_bytes(static_cast<std::uint64_t>(host.machine.memory)));
}

std::optional<ColocatedLoad::Left> ColocatedLoad::of(NodeId node) const {
  const auto found = workers_.find(node);
  if (found == workers_.end()) return std::nullopt;
  const Worker& worker = found->second;
  if (worker.slots == worker.nominal.cpu && worker.memory == worker.nominal.memory) return std::nullopt;
  return Left{worker.slots, worker.memory, worker.why};
}

}  // namespace weft::master

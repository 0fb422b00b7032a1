#include "engine/simulator/contention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.hpp"

namespace weft::simulator {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

double disk(const schedulers::Resources& load) { return load.disk_read + load.disk_write; }

/// The part of what it wants that each task gets, when together they want `wanted` and there is `has`.
double share(double wanted, double has, double loss) { return has > 0 && wanted > has ? std::pow(has / wanted, 1 + loss) : 1; }

schedulers::Resources sum_of(const auto& working) {
  schedulers::Resources sum;
  for (const auto& one : working) sum += one.load;
  return sum;
}

}  // namespace

/// The scarcer of processors and disk limits a task. Paging slows down all tasks that use memory.
void Contention::set_speeds(Node& node) const {
  const schedulers::Resources wanted = sum_of(node.working);
  const double processors = share(wanted.cpu, model_.cpu, 0), disks = share(disk(wanted), model_.disk, model_.disk_loss);
  const double memory = share(wanted.memory, model_.memory, model_.memory_loss);
  for (Working& one : node.working) {
    one.speed = std::min(one.load.cpu > 0 ? processors : 1, disk(one.load) > 0 ? disks : 1);
    if (one.load.memory > 0) one.speed *= memory;
    one.speed *= node.speed;
  }
}

void Contention::pass(Node& node, Time now) const {
  const double seconds = in_seconds(now - node.updated);
  for (Working& one : node.working) one.left -= seconds * one.speed;
  node.updated = now;
}

void Contention::begin(Time now, std::uint32_t machine, Slot slot, const schedulers::Resources& load, std::optional<Time> work) {
  Node& node = nodes_[machine];
  pass(node, now);
  const double seconds = work ? in_seconds(*work) : kForever;
  node.working.push_back({slot, load, seconds, 1});
  set_speeds(node);
  ++node.turn;
}

bool Contention::end(Time now, std::uint32_t machine, Slot slot) {
  Node& node = nodes_[machine];
  pass(node, now);
  if (std::erase_if(node.working, [slot](const Working& one) { return one.slot == slot; }) == 0) return false;
  set_speeds(node);
  ++node.turn;
  return true;
}

void Contention::set_speed(Time now, std::uint32_t machine, double speed) {
  Node& node = nodes_[machine];
  pass(node, now);
  node.speed = speed;
  set_speeds(node);
  ++node.turn;
}

void Contention::clear(std::uint32_t machine) {
  nodes_[machine].working.clear();
  ++nodes_[machine].turn;
}

std::optional<Contention::Next> Contention::next(std::uint32_t machine) const {
  const Node& node = nodes_[machine];
  double seconds = kForever;
  for (const Working& one : node.working) seconds = std::min(seconds, std::max(0.0, one.left) / one.speed);
  if (seconds == kForever) return std::nullopt;
  const double nanoseconds = std::min(std::ceil(seconds * 1e9), 9e18 - static_cast<double>(node.updated.count()));
  return Next{node.updated + Time(static_cast<std::int64_t>(nanoseconds)), node.turn};
}

std::vector<Contention::Slot> Contention::done(Time now, std::uint32_t machine, std::uint64_t turn) {
  Node& node = nodes_[machine];
  if (node.turn != turn) return {};
  pass(node, now);
  // The first has done it for certain: its time has come.
  double first = kForever;
  for (const Working& one : node.working) first = std::min(first, one.left / one.speed);
  std::vector<Slot> slots;
  for (const Working& one : node.working) {
    if (one.left / one.speed <= std::max(first, 1e-9)) slots.push_back(one.slot);
  }
  return slots;
}

schedulers::Resources Contention::used(std::uint32_t machine) const {
  schedulers::Resources used;
  for (const Working& one : nodes_[machine].working) {
    schedulers::Resources now = one.load * one.speed;
    now.memory = one.load.memory;
    used += now;
  }
  return used;
}

}  // namespace weft::simulator

#include "engine/simulator/transfers.hpp"

#include <algorithm>
#include <utility>

namespace weft::simulator {

namespace {

/// A disk writes back from the page cache when nothing else waits for it.
constexpr double kBehind = 1e-6;

}  // namespace

FlowNetwork::Flow Transfers::start(Transfer what, double weight) {
  const FlowNetwork::Flow flow =
      world_.network.start(world_.now, std::max(what.move.bytes, 1.0), std::exchange(what.move.uses, {}), weight);
  transfers_.emplace(flow, std::move(what));
  return flow;
}

void Transfers::ask(Transfer what) {
  const Time before = what.move.traffic.cross_rack > 0 ? world_.model.network.round_trip : Time(0);
  if (before == Time(0)) return void(start(std::move(what)));
  asked_.emplace(++asked_so_far_, std::move(what));
  world_.agenda.add(world_.now + before, {What::answered, 0, 0, asked_so_far_});
}

void Transfers::answered(std::uint64_t number) {
  auto asked = asked_.extract(number);
  if (!asked.empty()) start(std::move(asked.mapped()));
}

void Transfers::use_disk(std::uint32_t machine, double bytes, bool write, std::function<void(bool whole)> done) {
  start({std::nullopt, machine, machine, world_.machines.disk(machine, bytes, write), std::move(done)});
}

double Transfers::write_behind(std::uint32_t index, double bytes) {
  Machine& machine = world_.machines[index];
  double dirty = 0;
  for (FlowNetwork::Flow flow : machine.behind) dirty += transfers_.at(flow).move.bytes - world_.network.moved(world_.now, flow);
  const double cached = std::min(bytes, static_cast<double>(world_.model.shuffle.page_cache) - dirty);
  if (cached < 1) return bytes;
  Transfer behind{std::nullopt, index, index, world_.machines.disk(index, cached, true), [](bool) {}, true};
  machine.behind.push_back(start(std::move(behind), kBehind));
  return bytes - cached;
}

void Transfers::forget_behind(const Transfer& transfer, FlowNetwork::Flow flow) {
  if (transfer.behind) std::erase(world_.machines[transfer.to].behind, flow);
}

bool Transfers::ended(FlowNetwork::Flow flow) {
  auto transfer = transfers_.extract(flow);
  if (transfer.empty()) return false;
  ended_.push_back(std::move(transfer.mapped()));
  forget_behind(ended_.back(), flow);
  return true;
}

void Transfers::finish_ended() {
  for (const Transfer& transfer : ended_) {
    if (transfer.job) count(*transfer.job, transfer.move, 1);
    transfer.done(true);
  }
  ended_.clear();  // with the memory that they hold
}

/// Breaks the transfers that `gone` selects.
template <class Gone>
void Transfers::break_those(Gone gone) {
  std::vector<Transfer> broken;  // collected first, because `done` may start others
  for (auto at = transfers_.begin(); at != transfers_.end();) {
    if (!gone(at->second)) {
      ++at;
      continue;
    }
    const double bytes = world_.network.stop(world_.now, at->first);
    if (at->second.job) count(*at->second.job, at->second.move, bytes / std::max(at->second.move.bytes, 1.0));
    forget_behind(at->second, at->first);
    broken.push_back(std::move(at->second));
    at = transfers_.erase(at);
  }
  for (auto at = asked_.begin(); at != asked_.end();) {
    const auto next = std::next(at);
    if (gone(at->second)) broken.push_back(std::move(asked_.extract(at).mapped()));
    at = next;
  }
  for (const Transfer& transfer : broken) transfer.done(false);
}

void Transfers::machine_gone(std::uint32_t machine) {
  break_those([machine](const Transfer& transfer) { return transfer.from == machine || transfer.to == machine; });
}

void Transfers::job_over(std::size_t job) {
  break_those([job](const Transfer& transfer) { return transfer.job == job; });
}

void Transfers::count(std::size_t job, const Move& move, double part) {
  const auto kind = static_cast<std::size_t>(move.kind);
  world_.accounts.job(job).traffic[kind] += move.traffic * part;
  if (!world_.flows()) instant_traffic_[kind] += move.traffic * part;
}

Moved Transfers::moved_so_far() {
  Moved moved{instant_traffic_, world_.machines.rack_traffic(world_.network, world_.now)};
  if (!world_.flows()) return moved;
  for (std::size_t i = 0; i < kTrafficKinds; ++i) {
    const auto bytes = [&](int part) {
      return world_.network.link_bytes(world_.now, world_.machines.meter(static_cast<TrafficKind>(i), part));
    };
    moved.traffic[i] = {bytes(0), bytes(1), bytes(2)};
  }
  return moved;
}

}  // namespace weft::simulator

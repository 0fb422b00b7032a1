#include "engine/simulator/machines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace weft::simulator {

Machines::Machines(const ClusterModel& model, FlowNetwork& network)
    : racks_(model.racks), flows_(model.network.flows), rack_traffic_(model.racks) {
  const std::uint32_t count = model.node_count();
  for (const NodeGroup& group : model.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto index = static_cast<std::uint32_t>(all_.size());
      Machine& machine = all_.emplace_back();
      machine.group = &group;
      machine.name = group.hosts.empty() ? fmt::format("node-{}", index) : group.hosts[i];
      machine.rack = group.racks.empty() ? static_cast<std::uint32_t>(std::uint64_t{index} * model.racks / count) : group.racks[i];
      racks_[machine.rack].push_back(index);
      names_.emplace(machine.name, index);
    }
  }
  if (!flows_) return;
  constexpr double kMuch = 0.125;
  least_sent_ = std::min(kMuch, model.network.sender_parts / count);
  const auto link = [&network](double rate) { return rate > 0 ? std::optional(network.add_link(rate)) : std::nullopt; };
  const NetworkModel& rates = model.network;
  for (std::uint32_t i = 0; i < count; ++i)
    links_.push_back({link(rates.nic), link(rates.nic), link(rates.disk_read), link(rates.disk_write)});
  uplink_ = rates.uplink;
  for (const auto& rack : racks_) {
    double rate = rates.uplink;
    if (rate == 0 && rates.oversubscription > 0) rate = rates.nic * static_cast<double>(rack.size()) / rates.oversubscription;
    uplink_ = std::max(uplink_, rate);
    const auto own = rates.rack_uplinks.find(static_cast<std::uint32_t>(uplinks_.size()));
    const schedulers::UplinkRate both = own == rates.rack_uplinks.end() ? schedulers::UplinkRate{rate, rate} : own->second;
    const auto uplink = [&network](double most) { return network.add_link(most > 0 ? most : FlowNetwork::kUnlimited); };
    uplinks_.push_back({uplink(both.down), uplink(both.up)});
    uplink_limits_.push_back({both.up, both.down});
  }
  limits_uplinks_ = uplink_ > 0 || !rates.rack_uplinks.empty();
  for (auto& kind : meters_) {
    for (auto& meter : kind) meter = network.add_link(FlowNetwork::kUnlimited);
  }
}

std::string Machines::rack_name(std::uint32_t rack) const { return fmt::format("rack-{}", rack); }

std::optional<std::uint32_t> Machines::named(const std::string& host) const {
  auto found = names_.find(host);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

void Machines::add(Parts& parts, const std::optional<FlowNetwork::Link>& link, double bytes) {
  if (link && bytes > 0) parts[*link] += bytes;
}

void Machines::cross(Parts& parts, Move& move, std::uint32_t from_rack, std::uint32_t to_rack, double bytes) {
  move.traffic.remote += bytes;
  if (from_rack == to_rack) return;
  move.traffic.cross_rack += bytes;
  if (from_rack != kOutside) {
    rack_traffic_[from_rack].up += bytes;
    if (flows_) add(parts, uplinks_[from_rack].out, bytes);
  }
  rack_traffic_[to_rack].down += bytes;
  if (flows_) add(parts, uplinks_[to_rack].in, bytes);
}

std::vector<RackTraffic> Machines::rack_traffic(FlowNetwork& network, Time now) const {
  if (racks_.size() < 2) return {};
  if (!flows_) return rack_traffic_;
  std::vector<RackTraffic> all;
  for (const Uplink& link : uplinks_) all.push_back({network.link_bytes(now, link.out), network.link_bytes(now, link.in)});
  return all;
}

Move Machines::finish(Move move, const Parts& parts) const {
  if (!flows_ || move.bytes <= 0) return move;
  for (const auto& [link, bytes] : parts) move.uses.push_back({link, bytes / move.bytes});
  const double counted[] = {move.traffic.total, move.traffic.remote, move.traffic.cross_rack};
  for (int part = 0; part < 3; ++part) {
    if (counted[part] > 0) move.uses.push_back({meter(move.kind, part), counted[part] / move.bytes});
  }
  return move;
}

Move Machines::read(std::uint32_t from, std::uint32_t to, double bytes) {
  Move move{TrafficKind::map_read, bytes, {bytes, 0, 0}, {}};
  Parts parts;
  if (flows_ && from != kOutside) add(parts, links_[from].read, bytes);
  if (from != to) {
    if (flows_ && from != kOutside) add(parts, links_[from].out, bytes);
    if (flows_) add(parts, links_[to].in, bytes);
    cross(parts, move, from == kOutside ? kOutside : all_[from].rack, all_[to].rack, bytes);
  }
  return finish(std::move(move), parts);
}

Move Machines::fetch(const std::vector<Source>& sources, std::uint32_t to) {
  Move move{TrafficKind::shuffle, 0, {}, {}};
  Parts parts;
  for (const Source& source : sources) move.bytes += source.bytes;
  move.traffic.total = move.bytes;
  for (const Source& source : sources) {
    if (source.machine == to) continue;
    if (flows_ && source.bytes > move.bytes * least_sent_) add(parts, links_[source.machine].out, source.bytes);
    if (flows_) add(parts, links_[to].in, source.bytes);
    cross(parts, move, all_[source.machine].rack, all_[to].rack, source.bytes);
  }
  return finish(std::move(move), parts);
}

Move Machines::write(std::uint32_t at, double local, double copied, const std::vector<std::uint32_t>& copies) {
  Move move{TrafficKind::output, local, {copied * static_cast<double>(copies.size()), 0, 0}, {}};
  Parts parts;
  if (flows_) add(parts, links_[at].write, local);
  for (std::uint32_t previous = at; std::uint32_t copy : copies) {
    if (flows_) {
      add(parts, links_[previous].out, copied);
      add(parts, links_[copy].in, copied);
      add(parts, links_[copy].write, copied);
    }
    cross(parts, move, all_[previous].rack, all_[copy].rack, copied);
    previous = copy;
  }
  return finish(std::move(move), parts);
}

Move Machines::disk(std::uint32_t at, double bytes, bool write) const {
  Move move{TrafficKind::shuffle, bytes, {}, {}};
  Parts parts;
  add(parts, write ? links_[at].write : links_[at].read, bytes);
  return finish(std::move(move), parts);
}

schedulers::UplinkRate Machines::nic_rate(FlowNetwork& network, std::uint32_t machine) const {
  if (!flows_) return {};
  const Links& links = links_[machine];
  return {links.out ? network.link_rate(*links.out) : 0, links.in ? network.link_rate(*links.in) : 0};
}

schedulers::UplinkRate Machines::uplink_rate(FlowNetwork& network, Time now, std::uint32_t rack, UplinkMeter& meter) const {
  if (!limits_uplinks_) return {};
  const RackTraffic bytes{network.link_bytes(now, uplinks_[rack].out), network.link_bytes(now, uplinks_[rack].in)};
  const UplinkMeter before = std::exchange(meter, {now, bytes});
  const double seconds = in_seconds(now - before.at);
  if (seconds <= 0) return {};
  return {(bytes.up - before.bytes.up) / seconds, (bytes.down - before.bytes.down) / seconds};
}

}  // namespace weft::simulator

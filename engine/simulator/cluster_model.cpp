#include "engine/simulator/cluster_model.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace weft::simulator {

namespace {

Result<void> in_range(const char* what, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return fail(Code::invalid_argument, fmt::format("{} is {:g}; it must be from {:g} to {:g}", what, value, low, high));
}

Result<void> not_negative(const char* what, double value) {
  if (std::isfinite(value) && value >= 0) return {};
  return fail(Code::invalid_argument, fmt::format("{} is {:g}; it must be finite and not negative", what, value));
}

Result<void> not_negative(const char* what, Time value) { return not_negative(what, in_seconds(value)); }

Result<void> validate(const NodeGroup& group, std::uint32_t racks) {
  if (group.count == 0) return fail(Code::invalid_argument, "a group of nodes has none; leave it out");
  if (!schedulers::valid(group.capacity)) return fail(Code::invalid_argument, "a node's capacity must be finite and not negative");
  if (group.capacity.cpu <= 0) return fail(Code::invalid_argument, "a node needs cpu (cores, or slots)");
  if (!(std::isfinite(group.speed) && group.speed > 0)) return fail(Code::invalid_argument, "a node's speed must be positive");
  if (!group.hosts.empty() && group.hosts.size() != group.count) {
    return fail(Code::invalid_argument, fmt::format("{} host names for {} nodes", group.hosts.size(), group.count));
  }
  if (!group.racks.empty() && group.racks.size() != group.count) {
    return fail(Code::invalid_argument, fmt::format("{} racks for {} nodes", group.racks.size(), group.count));
  }
  for (std::uint32_t rack : group.racks) {
    if (rack >= racks)
      return fail(Code::invalid_argument, fmt::format("a node in rack {}, but there are {} (from 0)", rack, racks));
  }
  return {};
}

Result<void> validate(const ShuffleModel& shuffle, const NetworkModel& network) {
  if (shuffle.mode == shuffle::Mode::memory && !network.flows)
    return fail(Code::invalid_argument, "shuffle mode memory needs moves that take time: network.flows = true (--network)");
  if (!shuffle.mode && (shuffle.memory > 0 || shuffle.page_cache > 0 || shuffle.compressed != 1))
    return fail(Code::invalid_argument, "shuffle.memory, page_cache and compressed need a shuffle.mode, memory or pull");
  WEFT_TRY(in_range("the compressed size of map outputs", shuffle.compressed, 1e-3, 1));
  if (shuffle.fetch_bytes == 0) return fail(Code::invalid_argument, "a fetch needs at least a byte");
  return {};
}

Result<void> validate(const FaultModel& faults, std::uint32_t nodes) {
  WEFT_TRY(not_negative("the time between deaths", faults.between_deaths));
  WEFT_TRY(not_negative("the repair time", faults.repair));
  WEFT_TRY(not_negative("the detection time", faults.detection));
  WEFT_TRY(in_range("the silent part of deaths", faults.silent, 0, 1));
  WEFT_TRY(in_range("the part of attempts that fail", faults.attempt_failures, 0, 1));
  WEFT_TRY(in_range("the part of map outputs that get lost", faults.lost_outputs, 0, 1));
  WEFT_TRY(in_range("the part of stragglers", faults.stragglers, 0, 1));
  WEFT_TRY(in_range("the factor of stragglers", faults.straggler_factor, 1, 1e6));
  for (const NodeFault& fault : faults.nodes) {
    WEFT_TRY(not_negative("the time of a node's death", fault.at));
    WEFT_TRY(not_negative("the repair time of a node", fault.repair));
    WEFT_TRY(in_range("the speed that a node changes to", fault.speed, 0, 1e6));
    if (fault.node >= nodes) {
      return fail(Code::invalid_argument, fmt::format("node {} is to {}, but there are {} (from 0)", fault.node,
                                                      fault.speed > 0 ? "change its speed" : "die", nodes));
    }
  }
  return {};
}

Result<void> validate(const char* what, const std::vector<Availability>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && steps[i].from < steps[i - 1].from)
      return fail(Code::invalid_argument, fmt::format("the steps of {} must ascend in time", what));
    WEFT_TRY(in_range("the part of a node that is available", steps[i].part, 0, 1));
  }
  return {};
}

}  // namespace

std::uint32_t ClusterModel::node_count() const {
  std::uint32_t count = 0;
  for (const NodeGroup& group : groups) count += group.count;
  return count;
}

ClusterModel ClusterModel::one_machine(double units) {
  ClusterModel model;
  NodeGroup machine;
  machine.capacity.cpu = machine.capacity.memory = units;
  machine.capacity.disk_read = machine.capacity.disk_write = units;
  machine.capacity.network_in = machine.capacity.network_out = units;
  model.groups.push_back(std::move(machine));
  model.storage.replicas = 0;
  model.step = std::chrono::seconds(1);
  return model;
}

Result<void> validate(const ClusterModel& model) {
  if (model.groups.empty()) return fail(Code::invalid_argument, "a cluster needs at least one node");
  if (model.racks == 0) return fail(Code::invalid_argument, "a cluster needs at least one rack");
  for (const NodeGroup& group : model.groups) WEFT_TRY(validate(group, model.racks));
  std::set<std::string> hosts;
  for (const NodeGroup& group : model.groups) {
    for (const std::string& host : group.hosts) {
      if (!hosts.insert(host).second) return fail(Code::invalid_argument, fmt::format("two nodes are called '{}'", host));
    }
  }
  const NetworkModel& network = model.network;
  for (double rate :
       {network.nic, network.disk_read, network.disk_write, network.uplink, network.oversubscription, network.sender_parts})
    WEFT_TRY(not_negative("a rate of the network model", rate));
  for (Time interval : {network.fetch_interval, network.report_interval}) {
    if (interval <= Time(0)) return fail(Code::invalid_argument, "the fetch and report intervals must be positive");
  }
  if (network.round_trip < Time(0)) return fail(Code::invalid_argument, "a round trip must not be negative");
  if (network.oversubscription > 0 && network.nic == 0 && network.uplink == 0) {
    return fail(Code::invalid_argument, "an oversubscription needs a NIC rate to be a multiple of");
  }
  WEFT_TRY(validate(model.shuffle, network));
  for (const auto& [rack, rate] : network.rack_uplinks) {
    for (double direction : {rate.up, rate.down}) WEFT_TRY(not_negative("a rate of a rack's uplink", direction));
    if (rack >= model.racks)
      return fail(Code::invalid_argument, fmt::format("an uplink of rack {}, but there are {} (from 0)", rack, model.racks));
  }
  const InterferenceModel& interference = model.interference;
  for (double amount : {interference.cpu, interference.disk, interference.memory})
    WEFT_TRY(not_negative("what tasks of a node share", amount));
  for (double loss : {interference.disk_loss, interference.memory_loss}) WEFT_TRY(in_range("a loss by interference", loss, 0, 10));
  WEFT_TRY(in_range("the concentration of replicas", model.storage.concentration, 0, 1));
  if (model.storage.output_replicas == 0) return fail(Code::invalid_argument, "outputs need at least one replica");
  WEFT_TRY(validate(model.faults, model.node_count()));
  const EstimateError& error = model.estimates;
  for (double spread : {error.duration_spread, error.demand_spread}) WEFT_TRY(in_range("the spread of estimates", spread, 0, 1));
  WEFT_TRY(in_range("the bias of estimated durations", error.duration_bias, error.duration_spread - 1 + 1e-6, 100));
  WEFT_TRY(in_range("the bias of estimated demands", error.demand_bias, error.demand_spread - 1 + 1e-6, 100));
  WEFT_TRY(validate("availability", model.availability));
  WEFT_TRY(validate("the forecast", model.forecast.steps));
  WEFT_TRY(in_range("the spread of the forecast", model.forecast.spread, 0, 1));
  WEFT_TRY(in_range("the bias of the forecast", model.forecast.bias, -1, 100));
  WEFT_TRY(not_negative("the heartbeat interval", model.heartbeat));
  WEFT_TRY(not_negative("the step", model.step));
  WEFT_TRY(in_range("the slow start", model.slow_start.value_or(1), 0, 1));
  WEFT_TRY(in_range("the part of the maps before reduces are placed", model.preplace, 0, 1));
  if (model.shuffle_replicas != 1 && model.shuffle_replicas != 2)
    return fail(Code::invalid_argument, "map outputs are kept in 1 or 2 copies");
  return {};
}

}  // namespace weft::simulator

#include "engine/simulator/experiment/cluster_options.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/attributes.hpp"
#include "base/counted.hpp"
#include "base/text.hpp"
#include "engine/simulator/experiment/availability_file.hpp"
#include "engine/simulator/workloads/settings.hpp"

namespace weft::simulator::experiment {

namespace {

constexpr std::uint32_t kMostNodes = 1'000'000, kDefaultNodes = 100;
constexpr double kDefaultCores = 8;
constexpr double kUsualPreplace = 0.05;  // of a master

double real(std::uint64_t amount) { return static_cast<double>(amount); }

/// One item of a list of "key=value,…".
Result<void> read(std::string_view list, std::string_view text, Config& config) {
  const auto settings = workloads::split_settings(text);
  auto done = settings ? workloads::assign(*settings, config) : Result<void>(fail(settings.error()));
  return done ? done : fail(std::move(done).error().wrap(fmt::format("{} '{}'", list, escaped(text))));
}

/// Appends what `read_one` makes of each text.
template <class Item, class ReadOne>
Result<void> read_all(const std::vector<std::string>& texts, std::vector<Item>& items, ReadOne read_one) {
  for (const std::string& text : texts) {
    WEFT_ASSIGN(items.emplace_back(), read_one(text));
  }
  return {};
}

/// "(gpu=1,zone=a)", or one without parentheses.
Result<std::map<std::string, std::string>> read_attributes(std::string_view text) {
  text = trim(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  WEFT_ASSIGN(const auto parts, workloads::split_settings(text));
  return parse_attributes(parts);
}

/// Jobs know devices by the attribute that workers give them.
void name_devices(NodeGroup& group) {
  if (group.capacity.accelerator > 0) group.attributes.try_emplace(std::string(kAcceleratorAttribute), "gpu");
}

Result<NodeGroup> read_group(std::string_view list, std::string_view text, const ClusterOptions& base) {
  ClusterOptions own = base;
  NodeGroup group;
  std::string attributes;
  Config config;
  config.integer("count", group.count, "How many", 1, kMostNodes);
  own.declare_node(config);
  config.text("attributes", attributes, "Of each: (gpu=1)");
  WEFT_TRY(read(list, text, config));
  group.capacity = own.machine();
  group.speed = own.speed;
  WEFT_ASSIGN(group.attributes, read_attributes(attributes));
  name_devices(group);
  return group;
}

Result<NodeFault> read_fault(std::string_view text) {
  NodeFault fault;
  Config config;
  config.duration("at", fault.at, "When");
  config.integer("node", fault.node, "Which, from 0", 0, kMostNodes);
  config.flag("silent", fault.silent, "Found by missing heartbeats only");
  config.duration("repair", fault.repair, "Until it comes back; 0: never");
  config.real("speed", fault.speed, "Its speed from then on, over that of its group; 0: it dies");
  WEFT_TRY(read("node_faults", text, config));
  return fault;
}

Result<Availability> read_availability(std::string_view text) {
  Availability step;
  Config config;
  config.duration("from", step.from, "When");
  std::uint32_t nodes = kMostNodes;
  config.integer("nodes", nodes, "How many", 0, kMostNodes);
  config.real("part", step.part, "Of each of them");
  WEFT_TRY(read("availability", text, config));
  step.nodes = nodes;
  return step;
}

Result<void> read_rack_uplink(std::string_view text, std::map<std::uint32_t, schedulers::UplinkRate>& racks) {
  std::uint32_t rack = 0;
  std::uint64_t up = 0, down = 0;
  Config config;
  config.integer("rack", rack, "Which, from 0", 0, kMostNodes);
  config.size("up", up, "Bytes a second out of it");
  config.size("down", down, "Bytes a second into it");
  WEFT_TRY(read("network.racks", text, config));
  racks[rack] = {real(up), real(down)};
  return {};
}

/// Appends the number of each rack name, in order of first use (hosts without a rack share one), and returns how many there are.
std::uint32_t number_racks(const std::vector<std::string>& names, std::vector<std::uint32_t>& numbers) {
  std::map<std::string, std::uint32_t> known;
  for (const std::string& name : names) {
    numbers.push_back(known.emplace(name, static_cast<std::uint32_t>(known.size())).first->second);
  }
  return static_cast<std::uint32_t>(known.size());
}

Result<NodeGroup> trace_group(const std::vector<HostSpec>& hosts, std::uint32_t& racks) {
  if (hosts.empty()) return fail(Code::invalid_argument, "the workload names no hosts; say how many nodes there are (--nodes N)");
  NodeGroup group;
  group.count = static_cast<std::uint32_t>(hosts.size());
  std::vector<std::string> names;
  for (const HostSpec& host : hosts) {
    group.hosts.push_back(host.name);
    names.push_back(host.rack);
  }
  const bool placed = std::any_of(names.begin(), names.end(), [](const std::string& name) { return !name.empty(); });
  if (placed) racks = number_racks(names, group.racks);
  return group;
}

/// The capacity of a node of a log, changed where the options give an amount for nodes.
schedulers::Resources changed(schedulers::Resources capacity, const ClusterOptions& options) {
  const schedulers::Resources wanted = options.machine();
  for (const auto& kind : schedulers::kResourceKinds) {
    const bool given = kind.amount == &schedulers::Resources::cpu ? options.cores.has_value() : wanted.*kind.amount > 0;
    if (given) capacity.*kind.amount = wanted.*kind.amount;
  }
  return capacity;
}

}  // namespace

void ClusterOptions::declare_node(Config& config) {
  config.real("cores", cores, kDefaultCores, "Cores of a node, or slots; those of the log that is replayed");
  config.real("map_slots", map_slots, "Slots as in Hadoop 1, of a node; 0: untyped");
  config.real("reduce_slots", reduce_slots, "");
  config.real(
      "accelerator", accelerator,
      "Devices that tasks hold one by one, of the kind that the attribute accelerator names (gpu); 0: that attribute is a fact "
      "about the whole node");
  config.size("memory", memory, "Of a node; 0: not accounted, as the next four");
  config.size("disk_read", disk_read, "Bytes a second that demands may add up to");
  config.size("disk_write", disk_write, "The same");
  config.size("network_in", network_in, "The same");
  config.size("network_out", network_out, "The same");
  config.real("speed", speed, "Work takes its time divided by this");
}

void ClusterOptions::declare(Config& config) {
  config.integer("nodes", nodes, "How many; else 100, or those of the log that is replayed", 1, kMostNodes);
  config.flag("trace_hosts", trace_hosts, "Instead: the hosts and racks that the workload names");
  config.integer("racks", racks, "Racks, with as many nodes each", 1, kMostNodes);
  declare_node(config);
  config.list("kinds", kinds,
              "Instead: nodes of several kinds, \"count=20\" and \"count=5,accelerator=1\", with the keys of groups", ';');
  config.list("groups", groups, "Further nodes: \"count=6,speed=25,attributes=(gpu=1)\", other keys as above", ';');
  config.list("availability", availability,
              "\"from=1h,nodes=80,part=0.5\": half of each of the first 80 nodes is for tasks from then on", ';');
  config.text("availability_file", availability_file, "Instead: a CSV file of from,part[,nodes]");
  config.text("forecast.file", forecast_file, "The availability that schedulers expect, in the same form; else the truth");
  config.real("forecast.bias", model.forecast.bias, "They expect 1 + bias +- spread times that");
  config.real("forecast.spread", model.forecast.spread, "");
  config.duration("heartbeat", model.heartbeat, "Nodes report and get tasks this often; 0: at once");
  config.duration("step", model.step, "The scheduler decides at multiples of this; 0: at once");
  config.real("slow_start", model.slow_start, 1, "Part of the maps that end before reduces start; unset: what the scheduler says");
  config.real(
      "preplace", model.preplace,
      "Part of the maps that end before reduces are preplaced, by predicted sizes; 1: never, or 0.05 with shuffle.mode memory");
  config.integer("shuffle_replicas", model.shuffle_replicas, "Replicas of map outputs, on different nodes", 1, 2);
  config.text("shuffle.mode", shuffle_mode,
              "memory: outputs in memory, prefetched to the nodes of preplaced reduces; pull: from disk, late; else maps write "
              "after their work");
  config.size("shuffle.memory", model.shuffle.memory, "Of a node for outputs and prefetched blocks; 0: no limit");
  config.size("shuffle.page_cache", model.shuffle.page_cache,
              "Limit of the bytes that maps have written and their node's disk has not");
  config.real("shuffle.compressed", model.shuffle.compressed, "Bytes of map outputs on the network, over their size");
  config.size("shuffle.fetch", model.shuffle.fetch_bytes, "Of one fetch that prefetches");
  config.text(
      "speculation", speculation,
      "Speculative attempts at slow tasks: on, off, or \"on(slower=2, shortest=10s)\"; empty: off, or as a replayed log says");
  config.flag("network.flows", flows, "Moves share links and take time");
  config.size("network.nic", nic, "Bytes a second of a node, each way; 0: no limit, as for the next");
  config.size("network.disk", disk, "Bytes a second of a node's disk, each way");
  config.size("network.uplink", uplink, "Bytes a second of a rack, each way");
  config.real("network.oversubscription", model.network.oversubscription, "Instead: NICs of a rack over its uplink");
  config.real("network.sender_parts", model.network.sender_parts,
              "A sender's NIC counts where it supplies more than this many even parts of a fetch; 0: always");
  config.list("network.racks", rack_uplinks, "Of some racks: \"rack=3,up=50MB,down=100MB\"; 0: no limit", ';');
  config.real("interference.cpu", model.interference.cpu,
              "Cores that tasks of a node share while they work; 0: as many as they want");
  config.size("interference.disk", disk_shared, "Bytes a second of its disk that they share; 0: as many as they want");
  config.size("interference.memory", memory_shared, "Memory that they share; 0: as much as they want");
  config.real("interference.disk_loss", model.interference.disk_loss,
              "Where tasks want d times the amount, each gets the part d^-(1+loss)");
  config.real("interference.memory_loss", model.interference.memory_loss, "The same of memory");
  config.duration("network.round_trip", model.network.round_trip,
                  "Time of a request to another rack and its reply, beside the bytes");
  config.duration("network.fetch_interval", model.network.fetch_interval, "How often early reduces ask for further maps");
  config.integer("storage.replicas", model.storage.replicas, "Of inputs; 0: inputs have no place", 0, 100);
  config.real("storage.concentration", model.storage.concentration, "Part of a job's blocks with a replica in its home rack");
  config.integer("storage.output_replicas", model.storage.output_replicas, "Of what is written", 1, 100);
  config.duration("faults.between_deaths", model.faults.between_deaths, "Mean time between deaths of nodes; 0: none");
  config.real("faults.silent", model.faults.silent, "Part of the deaths found by missing heartbeats only");
  config.duration("faults.repair", model.faults.repair, "Mean time until a node comes back; 0: never");
  config.duration("faults.detection", model.faults.detection, "Until a silent node counts as lost");
  config.real("faults.attempt_failures", model.faults.attempt_failures, "Part of the attempts that fail");
  config.real("faults.lost_outputs", model.faults.lost_outputs, "Part of the map outputs that cannot be read");
  config.real("faults.stragglers", model.faults.stragglers, "Part of the attempts that are slow");
  config.real("faults.straggler_factor", model.faults.straggler_factor, "How much slower at most");
  config.list("faults.nodes", node_faults, "\"at=10s,node=3,silent=true,repair=1min; at=20s,node=4,speed=0.5\"", ';');
  config.real("estimates.duration_bias", model.estimates.duration_bias, "Schedulers expect 1 + bias +- spread times the truth");
  config.real("estimates.duration_spread", model.estimates.duration_spread, "");
  config.real("estimates.demand_bias", model.estimates.demand_bias, "");
  config.real("estimates.demand_spread", model.estimates.demand_spread, "");
}

Result<NodeGroup> ClusterOptions::first_group(const std::vector<HostSpec>& hosts, std::uint32_t& of_racks) const {
  NodeGroup first;
  if (trace_hosts) {
    WEFT_ASSIGN(first, trace_group(hosts, of_racks));
  } else {
    first.count = nodes > 0 ? nodes : kDefaultNodes;
  }
  first.capacity = machine();
  first.speed = speed;
  name_devices(first);
  return first;
}

bool ClusterOptions::names_nodes() const {
  const bool amounts = map_slots > 0 || reduce_slots > 0 || accelerator > 0 || memory > 0 || disk_read > 0 || disk_write > 0 ||
                       network_in > 0 || network_out > 0;
  return nodes > 0 || trace_hosts || racks != 1 || cores || amounts || speed != 1 || !kinds.empty() || !groups.empty() ||
         !rack_uplinks.empty();
}

schedulers::Resources ClusterOptions::machine() const {
  schedulers::Resources all;
  all.cpu = cores.value_or(kDefaultCores);
  all.memory = real(memory);
  all.map_slots = map_slots;
  all.reduce_slots = reduce_slots;
  all.accelerator = accelerator;
  all.disk_read = real(disk_read);
  all.disk_write = real(disk_write);
  all.network_in = real(network_in);
  all.network_out = real(network_out);
  return all;
}

Result<std::string> kinds_setting(std::string_view text) {
  WEFT_ASSIGN(const auto parts, workloads::split_settings(text));
  std::string kinds;
  for (const std::string_view part : parts) {
    const auto colon = part.find(':');
    const std::string_view count = part.substr(0, colon), rest = colon == std::string_view::npos ? "" : part.substr(colon + 1);
    const bool begins = parse_number<std::uint32_t>(count).has_value();
    if (!begins && (kinds.empty() || colon != std::string_view::npos))
      return fail(Code::invalid_argument,
                  fmt::format("'{}': '{}' is no number of nodes; an example is 20:cores=4,5:cores=4,accelerator=1", escaped(text),
                              escaped(count)));
    if (begins) kinds += fmt::format("{}count={}{}{}", kinds.empty() ? "" : ";", count, rest.empty() ? "" : ",", rest);
    if (!begins) kinds += fmt::format(",{}", part);
  }
  return kinds;
}

Result<ClusterModel> ClusterOptions::build(const std::vector<HostSpec>& hosts) const {
  ClusterModel result = model;
  result.racks = racks;
  if (!kinds.empty() && (trace_hosts || nodes > 0))
    return fail(Code::invalid_argument, "give either kinds (--nodes 20:…,5:…) or a number of nodes, or trace_hosts");
  const auto group = [this](std::string_view list) {
    return [this, list](const std::string& text) { return read_group(list, text, *this); };
  };
  WEFT_TRY(read_all(kinds, result.groups, group("kinds")));
  if (kinds.empty()) {
    WEFT_ASSIGN(result.groups.emplace_back(), first_group(hosts, result.racks));
  }
  WEFT_TRY(read_all(groups, result.groups, group("groups")));
  WEFT_TRY(read_all(node_faults, result.faults.nodes, read_fault));
  if (!availability.empty() && !availability_file.empty())
    return fail(Code::invalid_argument, "give either availability or availability_file");
  if (!availability_file.empty()) {
    WEFT_ASSIGN(result.availability, read_availability_file(availability_file));
  }
  if (!forecast_file.empty()) {
    WEFT_ASSIGN(result.forecast.steps, read_availability_file(forecast_file));
  }
  WEFT_TRY(read_all(availability, result.availability, read_availability));
  for (const std::string& text : rack_uplinks) WEFT_TRY(read_rack_uplink(text, result.network.rack_uplinks));
  result.interference.disk = real(disk_shared);
  result.interference.memory = real(memory_shared);
  WEFT_ASSIGN(result.speculation, master::parse_speculation(speculation.empty() ? "off" : speculation));
  result.network.flows = flows;
  if (!shuffle_mode.empty()) {
    result.shuffle.mode = shuffle::parse_mode(shuffle_mode);
    if (!result.shuffle.mode)
      return fail(Code::invalid_argument, fmt::format("shuffle.mode '{}' is not known: memory or pull", escaped(shuffle_mode)));
    if (result.shuffle.mode == shuffle::Mode::memory && result.preplace >= 1) result.preplace = kUsualPreplace;
  }
  result.network.nic = real(nic), result.network.uplink = real(uplink);
  result.network.disk_read = result.network.disk_write = real(disk);
  if (!flows && (nic > 0 || disk > 0 || uplink > 0 || !rack_uplinks.empty())) {
    return fail(Code::invalid_argument,
                "network.nic, disk, uplink and racks limit nothing without network.flows = true (--network)");
  }
  if (!flows && result.network.round_trip > Time(0))
    return fail(Code::invalid_argument, "network.round_trip adds nothing without network.flows = true (--network)");
  WEFT_TRY(validate(result));
  return result;
}

Result<void> use_recorded_nodes(const std::vector<workloads::RecordedNode>& nodes, const ClusterOptions& options,
                                ClusterModel& model) {
  if (!options.kinds.empty()) return {};
  if (nodes.empty()) return fail(Code::corrupt, "the log names no workers: it must begin with the master that it is of");
  std::map<std::string, int> hosts;
  for (const auto& node : nodes) ++hosts[node.host];
  const bool one_worker_each = std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return host.second == 1; });
  std::vector<std::string> rack_names;
  for (const auto& node : nodes) rack_names.push_back(node.rack);
  std::vector<std::uint32_t> racks;
  const std::uint32_t recorded_racks = number_racks(rack_names, racks);
  if (options.racks == 1) model.racks = recorded_racks;
  const bool uplinks_recorded =
      options.flows && options.uplink == 0 && options.rack_uplinks.empty() && options.model.network.oversubscription == 0;
  const std::size_t count = options.nodes > 0 ? options.nodes : nodes.size();
  std::vector<NodeGroup> groups;
  for (std::size_t i = 0; i < count; ++i) {
    const workloads::RecordedNode& node = nodes[i % nodes.size()];
    NodeGroup& group = groups.emplace_back();
    group.capacity = changed(node.capacity, options);
    group.speed = options.speed;
    group.processors = node.processors;
    group.attributes = node.attributes;
    if (options.racks == 1) {
      group.racks = {racks[i % racks.size()]};
      if (uplinks_recorded && (node.rack_uplink.up > 0 || node.rack_uplink.down > 0))
        model.network.rack_uplinks[group.racks.front()] = node.rack_uplink;
    }
    if (options.nodes > 0) continue;
    group.hosts = {one_worker_each ? node.host : node.name};
    for (const workloads::Absence& absence : node.absences) {
      const Time repair = absence.until ? std::max(Time(1), *absence.until - absence.from) : Time(0);
      model.faults.nodes.push_back({absence.from, static_cast<std::uint32_t>(i), false, repair});
    }
  }
  groups.insert(groups.end(), model.groups.begin() + 1, model.groups.end());
  model.groups = std::move(groups);
  return validate(model);
}

std::string describe(const ClusterModel& model) {
  if (model.node_count() == 1 && model.storage.replicas == 0 && model.step > Time{0}) {
    return fmt::format("one machine of {} units of each resource, decisions every {}", model.groups.front().capacity.cpu,
                       format_duration(model.step));
  }
  std::map<std::string, std::uint32_t> kinds;
  for (const NodeGroup& group : model.groups) {
    std::string kind = schedulers::to_string(group.capacity);
    if (group.speed != 1) kind += fmt::format(" at speed {}", group.speed);
    kinds[kind] += group.count;
  }
  std::string text;
  for (const auto& [kind, count] : kinds) text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", counted(count, "node"), kind);
  text += " in " + counted(model.racks, "rack");
  if (model.step > Time{0}) text += ", decisions every " + format_duration(model.step);
  if (model.heartbeat > Time{0}) text += ", heartbeats every " + format_duration(model.heartbeat);
  if (model.speculation.on) text += ", speculative attempts " + master::to_string(model.speculation);
  if (!model.network.flows) return text + "; moving bytes takes no time";
  if (model.shuffle.mode) text += fmt::format("; shuffle mode {}", shuffle::to_string(*model.shuffle.mode));
  if (model.shuffle.memory > 0) text += " with " + human_bytes(model.shuffle.memory);
  const auto rate = [](double bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)) + "/s"; };
  if (model.network.nic > 0) text += "; NICs " + rate(model.network.nic);
  if (model.network.uplink > 0) text += "; uplinks " + rate(model.network.uplink);
  if (model.network.oversubscription > 0) text += fmt::format("; oversubscription {}:1", model.network.oversubscription);
  return text;
}

}  // namespace weft::simulator::experiment

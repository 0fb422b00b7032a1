#include "engine/tools/display/node_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/master/nodes/clock_offset.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

const char* state_of(const client::NodeStatus& node) {
  return node.dead ? "dead" : node.lost ? "lost" : node.standing.leaving ? "leaving" : node.excluded ? "excluded" : "ready";
}

namespace {

std::string state_text(const client::NodeStatus& node) {
  if ((node.dead || node.lost) && !node.cause.empty()) return fmt::format("{}: {}", state_of(node), node.cause);
  std::string text = node.excluded && !node.standing.leaving ? fmt::format("excluded for {}", human_duration(node.excluded_for))
                                                             : std::string(state_of(node));
  if (node.excluded && !node.standing.leaving && !node.cause.empty()) text += ": " + escaped(node.cause);
  if (!node.standing.capacity_why.empty()) text += ", reduced: " + escaped(node.standing.capacity_why);
  if (const std::string clock = master::clock_text(node.clock_ahead); !clock.empty()) text += ", clock " + clock;
  return text;
}

/// The processors and the memory of the worker's processes, and of all on its machine; "-" before it has measured.
std::string processors(const client::NodeUsage& usage) {
  if (usage.machine.memory == 0) return "-";
  return fmt::format("{:.1f} of {:.1f}", usage.worker.cpu, usage.machine.cpu);
}
std::string memory(const client::NodeUsage& usage) {
  if (usage.machine.memory == 0) return "-";
  return fmt::format("{} of {}", human_bytes(static_cast<std::uint64_t>(usage.worker.memory)),
                     human_bytes(static_cast<std::uint64_t>(usage.machine.memory)));
}

/// "cpu=1 of cpu=2,memory=4GiB": at present, of what it joined with.
std::string capacity_text(const client::NodeStatus& node) {
  std::string present = to_string(node.capacity);
  if (node.capacity.cpu == 0 && present != "cpu=0") present.insert(0, "cpu=0,");
  return node.capacity == node.standing.nominal ? present : fmt::format("{} of {}", present, to_string(node.standing.nominal));
}

/// "1 of 2 held, 1 excluded": of those that it has for tasks, and those that failed.
std::string devices_text(const client::NodeStatus& node) {
  const double lent = node.standing.nominal.accelerator, excluded = lent - node.capacity.accelerator;
  if (lent == 0) return "-";
  return fmt::format("{} of {} held{}", node.used.accelerator, node.capacity.accelerator,
                     excluded > 0 ? fmt::format(", {} excluded", excluded) : "");
}

}  // namespace

std::string nodes_json(const std::vector<client::NodeStatus>& nodes) {
  return json_line(objects(nodes, [](JsonWriter& json, const client::NodeStatus& node) {
    members(json, "id", node.id.value(), "name", node.name, "host", node.host, "rack", node.rack, "address", node.address, "slots",
            node.slots, "running", node.running, "state", state_of(node));
    if (node.dead || node.lost || !node.cause.empty()) members(json, "cause", node.cause);
    members(json, "excluded_seconds_more", in_seconds(node.excluded_for), "clock_ahead_seconds", in_seconds(node.clock_ahead),
            "capacity", node.capacity, "nominal", node.standing.nominal, "capacity_why", node.standing.capacity_why, "devices",
            object("lent", node.standing.nominal.accelerator, "held", node.used.accelerator, "excluded",
                   node.standing.nominal.accelerator - node.capacity.accelerator),
            "speed", node.standing.speed, "used", node.used, "measured",
            object("worker", node.measured.worker, "machine", node.measured.machine, "cross_rack_up", node.measured.cross_rack.up,
                   "cross_rack_down", node.measured.cross_rack.down),
            "store_memory_bytes", node.store_memory_bytes, "store_disk_bytes", node.store_disk_bytes, "prefetch_memory_bytes",
            node.prefetch_memory_bytes, "prefetch_file_bytes", node.prefetch_file_bytes, "prefetch", node.prefetch, "attributes",
            node.attributes, "heard_seconds_ago", in_seconds(node.heard));
  }));
}

std::string nodes_table(const std::vector<client::NodeStatus>& nodes) {
  TextTable table({"NODE", "NAME", "HOST", "RACK", "ADDRESS", "RUNNING", "USED", "CAPACITY", "CPU", "MEMORY", "SPEED", "ATTRIBUTES",
                   "DEVICES", "STATE", "HEARD"});
  for (const client::NodeStatus& node : nodes) {
    std::vector<std::string> attributes;
    for (const auto& [name, value] : node.attributes) attributes.push_back(name + "=" + value);
    table.row(node.id.value(), node.name, node.host, node.rack, node.address, node.running, to_string(node.used),
              capacity_text(node), processors(node.measured), memory(node.measured), fmt::format("{:.2g}", node.standing.speed),
              join(attributes, ","), devices_text(node), state_text(node), human_duration(node.heard) + " ago");
  }
  return table.text();
}

}  // namespace weft::tools

#include "engine/tools/display/node_text.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/master/nodes/clock_offset.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/table.hpp"

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

}  // namespace

std::string nodes_json(const std::vector<client::NodeStatus>& nodes) {
  JsonWriter json;
  json.begin_array();
  for (const client::NodeStatus& node : nodes) {
    json.begin_object().member("id", node.id.value()).member("name", node.name).member("host", node.host).member("rack", node.rack);
    json.member("address", node.address)
        .member("slots", node.slots)
        .member("running", node.running)
        .member("state", state_of(node));
    if (node.dead || node.lost || !node.cause.empty()) json.member("cause", node.cause);
    json.member("excluded_seconds_more", std::chrono::duration<double>(node.excluded_for).count());
    json.member("clock_ahead_seconds", std::chrono::duration<double>(node.clock_ahead).count());
    json.key("capacity");
    add_resources(json, node.capacity);
    json.key("nominal");
    add_resources(json, node.standing.nominal);
    json.member("capacity_why", node.standing.capacity_why).member("speed", node.standing.speed);
    json.key("used");
    add_resources(json, node.used);
    json.key("measured").begin_object().key("worker");
    add_resources(json, node.measured.worker);
    json.key("machine");
    add_resources(json, node.measured.machine);
    json.member("cross_rack_up", node.measured.cross_rack.up).member("cross_rack_down", node.measured.cross_rack.down).end_object();
    json.member("store_memory_bytes", node.store_memory_bytes).member("store_disk_bytes", node.store_disk_bytes);
    json.member("prefetch_memory_bytes", node.prefetch_memory_bytes).member("prefetch_file_bytes", node.prefetch_file_bytes);
    json.key("prefetch");
    add_prefetch_stats(json, node.prefetch);
    json.key("attributes").begin_object();
    for (const auto& [name, value] : node.attributes) json.member(name, value);
    json.end_object().member("heard_seconds_ago", std::chrono::duration<double>(node.heard).count()).end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string nodes_table(const std::vector<client::NodeStatus>& nodes) {
  Table table({"NODE", "NAME", "HOST", "RACK", "ADDRESS", "RUNNING", "USED", "CAPACITY", "CPU", "MEMORY", "SPEED", "ATTRIBUTES",
               "STATE", "HEARD"});
  for (const client::NodeStatus& node : nodes) {
    std::vector<std::string> attributes;
    for (const auto& [name, value] : node.attributes) attributes.push_back(name + "=" + value);
    table.add({std::to_string(node.id.value()), node.name, node.host, node.rack, node.address, std::to_string(node.running),
               to_string(node.used), capacity_text(node), processors(node.measured), memory(node.measured),
               fmt::format("{:.2g}", node.standing.speed), join(attributes, ","), state_text(node),
               human_duration(node.heard) + " ago"});
  }
  return table.text();
}

}  // namespace weft::tools

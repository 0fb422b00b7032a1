// weft node list, wait, set, drain
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/cli/commands.hpp"
#include "engine/cli/job_text.hpp"
#include "engine/cli/options.hpp"
#include "engine/cli/rack_text.hpp"
#include "engine/cli/table.hpp"
#include "engine/client/admin.hpp"
#include "engine/master/capacity_words.hpp"
#include "engine/master/clock_offset.hpp"

namespace weft::cli {

namespace {

struct NodeOptions {
  std::string master = "127.0.0.1:7077";
  bool json = false, racks = false;
  std::uint32_t count = 1;
  std::string name;
  std::string timeout = "30s";
  std::vector<std::string> capacity;
  std::string reason;
};

const char* state_of(const client::NodeStatus& node) {
  return node.dead ? "dead" : node.lost ? "lost" : node.excluded ? "excluded" : "ready";
}

std::string state_text(const client::NodeStatus& node) {
  if (node.dead) return "dead: " + node.cause;
  std::string text =
      node.excluded ? fmt::format("excluded for {}", human_duration(node.excluded_for)) : std::string(state_of(node));
  if (!node.standing.capacity_why.empty()) text += ", reduced: " + escaped(node.standing.capacity_why);
  if (const std::string clock = master::clock_text(node.clock_ahead); !clock.empty()) text += ", clock " + clock;
  return text;
}

std::string as_json(const std::vector<client::NodeStatus>& nodes) {
  JsonWriter json;
  json.begin_array();
  for (const client::NodeStatus& node : nodes) {
    json.begin_object().member("id", node.id.value()).member("name", node.name).member("host", node.host).member("rack", node.rack);
    json.member("address", node.address)
        .member("slots", node.slots)
        .member("running", node.running)
        .member("state", state_of(node));
    if (node.dead) json.member("cause", node.cause);
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

std::string as_table(const std::vector<client::NodeStatus>& nodes) {
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

Result<void> list(const NodeOptions& options) {
  WEFT_ASSIGN(const auto admin, client::Admin::connect(options.master));
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  if (options.racks) {
    const std::vector<RackLoad> racks = racks_of(nodes);
    std::fputs((options.json ? racks_json(racks) : racks_text(racks)).c_str(), stdout);
    return {};
  }
  std::fputs((options.json ? as_json(nodes) : as_table(nodes)).c_str(), stdout);
  return {};
}

/// How many of the requested workers can run tasks now.
Result<std::size_t> ready_nodes(const NodeOptions& options) {
  WEFT_ASSIGN(const auto admin, client::Admin::connect(options.master));
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const client::NodeStatus& node) {
    return !node.excluded && !node.lost && !node.dead && (options.name.empty() || node.name == options.name);
  }));
}

Result<void> wait(const NodeOptions& options) {
  WEFT_ASSIGN(const Duration longest, parse_duration(options.timeout));
  const auto deadline = std::chrono::steady_clock::now() + longest;
  while (true) {
    auto ready = ready_nodes(options);
    if (ready && *ready >= options.count) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      if (!ready) return fail(std::move(ready).error());
      return fail(Code::deadline_exceeded,
                  fmt::format("{} of {} workers{} are ready after {}; see their logs and `weft node list`", *ready, options.count,
                              options.name.empty() ? "" : " called " + options.name, options.timeout));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<void> set(const NodeOptions& options) {
  WEFT_ASSIGN(const auto admin, client::Admin::connect(options.master));
  return admin->set_node({options.name, join(options.capacity, " "), options.reason});
}

void add_set(CLI::App& node, const std::shared_ptr<NodeOptions>& options, Action& action) {
  CLI::App* command = node.add_subcommand("set", "Give a worker less than it joined with, or that again; what runs there goes on");
  add_master_option(*command, options->master);
  command->add_option("WORKER", options->name, "Its name")->required();
  command->add_option("CAPACITY", options->capacity, "slots=2 memory=4GiB …; slots=nominal, or nominal for all, takes it back")
      ->required()
      ->check([](const std::string& text) {
        const auto words = master::parse_capacity_words(text);
        return words ? std::string() : words.error().to_string();
      });
  command->add_option("--reason", options->reason, "Why, for weft node list")->type_name("TEXT");
  command->callback([options, &action] { action = [options] { return set(*options); }; });
}

}  // namespace

void add_node(CLI::App& app, Action& action) {
  CLI::App* node = app.add_subcommand("node", "List the cluster's workers, wait for them, set what they have, drain them");
  node->require_subcommand(1);
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = node->add_subcommand("list", "The workers, their state and their load");
  add_master_option(*command, options->master);
  command->add_flag("--json", options->json, "As JSON");
  command->add_flag("--racks", options->racks, "The racks instead, and how much of their uplinks is in use");
  add_drain(*node, action);
  add_set(*node, options, action);
  command->callback([options, &action] { action = [options] { return list(*options); }; });

  CLI::App* waiting = node->add_subcommand("wait", "Wait until COUNT workers are ready; fails when they are not in time");
  add_master_option(*waiting, options->master);
  waiting->add_option("COUNT", options->count, "Number of workers; with 0 it is enough that the master answers")
      ->capture_default_str();
  waiting->add_option("--name", options->name, "Count only workers of this name")->type_name("NAME");
  waiting->add_option("--timeout", options->timeout, "How long to wait")->type_name("TIME")->capture_default_str();
  waiting->callback([options, &action] { action = [options] { return wait(*options); }; });
}

}  // namespace weft::cli

// weft node list
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/cli/commands.hpp"
#include "engine/cli/table.hpp"
#include "engine/client/admin.hpp"

namespace weft::cli {

namespace {

struct Options {
  std::string master = "127.0.0.1:7077";
  bool json = false;
};

const char* state_of(const client::NodeStatus& node) { return node.excluded ? "excluded" : "ready"; }

std::string as_json(const std::vector<client::NodeStatus>& nodes) {
  JsonWriter json;
  json.begin_array();
  for (const client::NodeStatus& node : nodes) {
    json.begin_object().member("id", node.id.value()).member("name", node.name).member("host", node.host).member("rack", node.rack);
    json.member("address", node.address)
        .member("slots", node.slots)
        .member("running", node.running)
        .member("state", state_of(node));
    json.member("excluded_seconds_more", std::chrono::duration<double>(node.excluded_for).count());
    json.key("capacity");
    add_resources(json, node.capacity);
    json.key("used");
    add_resources(json, node.used);
    json.key("attributes").begin_object();
    for (const auto& [name, value] : node.attributes) json.member(name, value);
    json.end_object().member("heard_seconds_ago", std::chrono::duration<double>(node.heard).count()).end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string as_table(const std::vector<client::NodeStatus>& nodes) {
  Table table({"NODE", "NAME", "HOST", "RACK", "ADDRESS", "RUNNING", "USED", "CAPACITY", "ATTRIBUTES", "STATE", "HEARD"});
  for (const client::NodeStatus& node : nodes) {
    std::vector<std::string> attributes;
    for (const auto& [name, value] : node.attributes) attributes.push_back(name + "=" + value);
    const std::string state =
        node.excluded ? fmt::format("excluded for {}", human_duration(node.excluded_for)) : std::string(state_of(node));
    table.add({std::to_string(node.id.value()), node.name, node.host, node.rack, node.address, std::to_string(node.running),
               to_string(node.used), to_string(node.capacity), join(attributes, ","), state, human_duration(node.heard) + " ago"});
  }
  return table.text();
}

Result<void> list(const Options& options) {
  WEFT_ASSIGN(const auto admin, client::Admin::connect(options.master));
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  std::fputs((options.json ? as_json(nodes) : as_table(nodes)).c_str(), stdout);
  return {};
}

}  // namespace

void add_node(CLI::App& app, Action& action) {
  CLI::App* node = app.add_subcommand("node", "Look at the cluster's workers");
  node->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* command = node->add_subcommand("list", "The workers and what they do");
  add_master_option(*command, options->master);
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options, &action] { action = [options] { return list(*options); }; });
}

}  // namespace weft::cli

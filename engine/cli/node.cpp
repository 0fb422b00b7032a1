// weft node list
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

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
    json.member("heard_seconds_ago", std::chrono::duration<double>(node.heard).count()).end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string as_table(const std::vector<client::NodeStatus>& nodes) {
  Table table({"NODE", "NAME", "HOST", "RACK", "ADDRESS", "SLOTS", "RUNNING", "STATE", "HEARD"});
  for (const client::NodeStatus& node : nodes) {
    table.add({std::to_string(node.id.value()), node.name, node.host, node.rack, node.address, std::to_string(node.slots),
               std::to_string(node.running), state_of(node), human_duration(node.heard) + " ago"});
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

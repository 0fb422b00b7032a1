// weft node list, wait, set, drain
#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/node_text.hpp"
#include "engine/tools/display/rack_text.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

struct NodeOptions {
  MasterOption master;
  bool json = false, racks = false;
  std::uint32_t count = 1;
  std::string name;
  std::string timeout = "30s";
  std::vector<std::string> capacity;
  std::string reason;
};

Result<void> list(const NodeOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto listed, admin->node_list());
  const auto& nodes = listed.nodes;
  if (listed.insecure) tell_insecure();
  if (options.racks) {
    const std::vector<RackLoad> racks = racks_of(nodes);
    return print(options.json ? racks_json(racks) : racks_text(racks));
  }
  return print(options.json ? nodes_json(nodes) : nodes_table(nodes));
}

/// How many of the requested workers can run tasks now.
Result<std::size_t> ready_nodes(const NodeOptions& options) {
  WEFT_ASSIGN(const auto admin, client::Admin::connect(options.master.address));
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](const client::NodeStatus& node) {
    return !node.excluded && !node.standing.leaving && !node.lost && !node.dead &&
           (options.name.empty() || node.name == options.name);
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
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  return admin->set_node({options.name, join(options.capacity, " "), options.reason});
}

void add_set(CLI::App& node, Action& action) {
  Command<NodeOptions> command(node, action, "set",
                               "Give a worker less than it joined with, or that again; what runs there goes on", set);
  command.master().argument("WORKER", &NodeOptions::name, "Its name");
  command.app()
      .add_option("CAPACITY", command.options().capacity, "slots=2 memory=4GiB …; slots=nominal, or nominal for all, takes it back")
      ->required()
      ->check(parsed_by(master::parse_capacity_words));
  command.value("--reason", &NodeOptions::reason, "TEXT", "Why, for weft node list");
}

void add_wait(CLI::App& node, Action& action) {
  const Command<NodeOptions> command(node, action, "wait", "Wait until COUNT workers are ready; fails when they are not in time",
                                     wait);
  NodeOptions& options = command.options();
  add_master_address(command.app(), options.master);  // --timeout is the patience
  command.app()
      .add_option("COUNT", options.count, "Number of workers; with 0 it is enough that the master answers")
      ->capture_default_str();
  add_value(command.app(), "--name", options.name, "NAME", "Count only workers of this name");
  add_value(command.app(), "--timeout", options.timeout, "TIME", "How long to wait")->capture_default_str();
}

}  // namespace

void add_node(CLI::App& app, Action& action) {
  CLI::App& node = add_group(app, "node", "List the cluster's workers, wait for them, set what they have, drain them");
  Command<NodeOptions>(node, action, "list", "The workers, their state and their load", list)
      .master()
      .json()
      .flag("--racks", &NodeOptions::racks, "The racks instead, and how much of their uplinks is in use");
  add_drain(node, action);
  add_set(node, action);
  add_wait(node, action);
}

}  // namespace weft::tools

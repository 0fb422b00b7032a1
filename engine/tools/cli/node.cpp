// weft node list, wait, set, drain
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/display/node_text.hpp"
#include "engine/tools/display/rack_text.hpp"

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
  WEFT_ASSIGN(const auto nodes, admin->nodes());
  if (options.racks) {
    const std::vector<RackLoad> racks = racks_of(nodes);
    std::fputs((options.json ? racks_json(racks) : racks_text(racks)).c_str(), stdout);
    return {};
  }
  std::fputs((options.json ? nodes_json(nodes) : nodes_table(nodes)).c_str(), stdout);
  return {};
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
  add_master_address(*waiting, options->master);  // --timeout is the patience
  waiting->add_option("COUNT", options->count, "Number of workers; with 0 it is enough that the master answers")
      ->capture_default_str();
  waiting->add_option("--name", options->name, "Count only workers of this name")->type_name("NAME");
  waiting->add_option("--timeout", options->timeout, "How long to wait")->type_name("TIME")->capture_default_str();
  waiting->callback([options, &action] { action = [options] { return wait(*options); }; });
}

}  // namespace weft::tools

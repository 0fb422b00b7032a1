// weft pool list, weft queue list, weft scheduler show|use|reload
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/display/table.hpp"
#include "schedulers/builtin.hpp"

namespace weft::tools {

namespace {

struct SchedulingOptions {
  MasterOption master;
  bool master_given = false;  // by option or environment
  std::string spec;
  bool json = false;
};

std::string amount(double value) { return fmt::format("{:.4g}", value); }
std::string shown(const std::string& name) { return name.empty() ? "(none)" : name; }

/// Pools have weights and minimum shares, queues capacities and limits: the same columns under their own names.
Result<void> list_groups(const SchedulingOptions& options, bool queues) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto groups, admin->groups());
  if (options.json) {
    print(groups_json(groups));
    return {};
  }
  Table table({queues ? "QUEUE" : "POOL", "PARENT", queues ? "CAPACITY %" : "WEIGHT", queues ? "GUARANTEED" : "MINIMUM", "SHARE",
               "LIMIT", "USED", "DEMAND", "JOBS", "RUNNING", "WAITING"});
  for (const client::GroupInfo& group : groups) {
    const schedulers::GroupStatus& status = group.status;
    const auto of_scheduler = [&group](double value) { return group.unknown ? std::string("-") : amount(value); };
    table.add({shown(status.name), status.parent, of_scheduler(status.weight), of_scheduler(status.guaranteed),
               of_scheduler(status.fair_share), status.limit ? amount(*status.limit) : "-", amount(status.used),
               amount(status.demand), std::to_string(status.jobs), std::to_string(group.running), std::to_string(group.pending)});
  }
  print(table.text());
  return {};
}

std::string known_table(const client::SchedulerInfo& info) {
  Table table({"SCHEDULER", "WHAT IT DOES"});
  for (const auto& [name, description] : info.known) table.add({name, description});
  return table.text();
}

std::string scheduler_text(const client::SchedulerInfo& info) {
  std::string text = fmt::format("scheduler {}\n", escaped(info.spec));
  for (const std::string& file : info.files) text += fmt::format("file {}\n", escaped(file));
  text += fmt::format("{} decisions refused, {} calls failed\n", info.trouble.refused, info.trouble.faults);
  if (info.trouble.faults > 0)
    text += fmt::format("{} ago: {}\n", human_duration(info.now - info.trouble.at), escaped(info.trouble.fault));
  return text + "\n" + known_table(info);
}

/// What a master of this release knows that no plugin was given to.
Result<void> show_known(const SchedulingOptions& options) {
  schedulers::Registry registry;
  WEFT_TRY(schedulers::register_builtin_schedulers(registry));
  client::SchedulerInfo info;
  for (const std::string& name : registry.names()) info.known[name] = registry.description(name);
  print(options.json
            ? scheduler_json(info)
            : fmt::format("no master at {}; a master of this release has\n\n{}", options.master.address, known_table(info)));
  return {};
}

Result<void> show(const SchedulingOptions& options) {
  auto admin = options.master_given ? admin_at(options.master) : client::Admin::connect(options.master.address);
  if (!admin && !options.master_given) return show_known(options);
  if (!admin) return fail(std::move(admin).error());
  WEFT_ASSIGN(const auto info, (*admin)->scheduler());
  print(options.json ? scheduler_json(info) : scheduler_text(info));
  return {};
}

Result<void> configure(const SchedulingOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto info, admin->configure_scheduler(options.spec));
  print(options.json ? scheduler_json(info) : fmt::format("scheduler {} is in force\n", escaped(info.spec)));
  return {};
}

}  // namespace

void add_scheduling(CLI::App& app, Action& action) {
  auto options = std::make_shared<SchedulingOptions>();
  const auto add = [&](CLI::App* group, const char* name, const char* help,
                       std::function<Result<void>(const SchedulingOptions&)> run) {
    CLI::App* command = group->add_subcommand(name, help);
    add_master_option(*command, options->master);
    command->callback([options, command, run = std::move(run), &action] {
      options->master_given = command->count("--master") > 0 || std::getenv("WEFT_MASTER") != nullptr;
      action = [options, run] { return run(*options); };
    });
    return command;
  };
  const auto listing = [&](const char* name, const char* help, bool queues) {
    CLI::App* group = app.add_subcommand(name, help);
    group->require_subcommand(1);
    add(group, "list", help, [queues](const SchedulingOptions& given) {
      return list_groups(given, queues);
    })->add_flag("--json", options->json, "As JSON");
  };
  listing("pool", "The scheduler's pools: shares, minimums, use and demand", false);
  listing("queue", "The scheduler's queues: capacities, limits, use and demand", true);
  CLI::App* scheduler = app.add_subcommand("scheduler", "Show the master's scheduler, or change it while jobs run");
  scheduler->require_subcommand(1);
  add(scheduler, "show", "The scheduler in force, its faults, and which schedulers there are; without a master, these", show)
      ->add_flag("--json", options->json, "As JSON");
  add(scheduler, "reload", "Read the files of the scheduler again; when they are wrong, the old ones stay in force", configure)
      ->add_flag("--json", options->json, "As JSON");
  CLI::App* use = add(scheduler, "use", "Change to another scheduler, or other options", configure);
  use->add_flag("--json", options->json, "As JSON");
  use->add_option("SCHEDULER", options->spec, "NAME or 'NAME(key=value,…)'")->required();
}

}  // namespace weft::tools

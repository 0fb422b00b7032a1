// weft pool list, weft queue list, weft scheduler show|use|reload
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/text_table.hpp"
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
  if (options.json) return print(groups_json(groups));
  TextTable table({queues ? "QUEUE" : "POOL", "PARENT", queues ? "CAPACITY %" : "WEIGHT", queues ? "GUARANTEED" : "MINIMUM",
                   "SHARE", "LIMIT", "USED", "DEMAND", "JOBS", "RUNNING", "WAITING"});
  for (const client::GroupInfo& group : groups) {
    const schedulers::GroupStatus& status = group.status;
    const auto of_scheduler = [&group](double value) { return group.unknown ? std::string("-") : amount(value); };
    table.row(shown(status.name), status.parent, of_scheduler(status.weight), of_scheduler(status.guaranteed),
              of_scheduler(status.fair_share), status.limit ? amount(*status.limit) : "-", amount(status.used),
              amount(status.demand), status.jobs, group.running, group.pending);
  }
  return print(table.text());
}

std::string known_table(const client::SchedulerInfo& info) {
  TextTable table({"SCHEDULER", "WHAT IT DOES"});
  for (const auto& [name, description] : info.known) table.row(name, description);
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

/// The schedulers of a master of this release without plugins.
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
  if (!admin && !options.master_given && admin.error().code() == Code::unavailable) return show_known(options);
  if (!admin) return fail(std::move(admin).error());
  WEFT_ASSIGN(const auto info, (*admin)->scheduler());
  return print(options.json ? scheduler_json(info) : scheduler_text(info));
}

Result<void> configure(const SchedulingOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto info, admin->configure_scheduler(options.spec));
  return print(options.json ? scheduler_json(info) : fmt::format("scheduler {} is in force\n", escaped(info.spec)));
}

}  // namespace

void add_scheduling(CLI::App& app, Action& action) {
  using SchedulingCommand = Command<SchedulingOptions>;
  const auto listing = [&](const char* name, const char* help, bool queues) {
    const auto list = [queues](const SchedulingOptions& options) { return list_groups(options, queues); };
    SchedulingCommand(add_group(app, name, help), action, "list", help, list).master().json();
  };
  listing("pool", "The scheduler's pools: shares, minimums, use and demand", false);
  listing("queue", "The scheduler's queues: capacities, limits, use and demand", true);
  CLI::App& scheduler = add_group(app, "scheduler", "Show the master's scheduler, or change it while jobs run");
  SchedulingCommand shown(scheduler, action, "show",
                          "The scheduler in force, its faults, and which schedulers there are; without a master, these", show);
  shown.master().json().app().callback([options = shown.shared(), &command = shown.app(), &action] {
    options->master_given = command.count("--master") > 0 || std::getenv("WEFT_MASTER") != nullptr;
    action = [options] { return show(*options); };
  });
  SchedulingCommand(scheduler, action, "reload",
                    "Read the files of the scheduler again; when they are wrong, the old ones stay in force", configure)
      .master()
      .json();
  SchedulingCommand(scheduler, action, "use", "Change to another scheduler, or other options", configure)
      .master()
      .json()
      .argument("SCHEDULER", &SchedulingOptions::spec, "NAME or 'NAME(key=value,…)'");
}

}  // namespace weft::tools

// weft simulate
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/core.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "engine/simulator/experiment/experiment.hpp"
#include "engine/simulator/report/reports.hpp"
#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/generator.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

using namespace simulator;

struct SimulateOptions {
  experiment::Options what;
  std::vector<std::string> settings;  // of the cluster, "key=value" in the order given
  std::string cluster_file, report, csv, write_workload, until, step;
  bool describe = false, json = false, quiet = false, print_cluster = false, overwrite = false;
};

constexpr std::size_t kMostShown = 10;      // replayed jobs and failures in a terminal
constexpr std::size_t kMostDeadlines = 50;  // jobs with deadlines

constexpr KeyOption kClusterOptions[] = {
    {"--nodes", "nodes", "N|trace", "Number of nodes (100), or 'trace': the hosts and racks that the workload names"},
    {"--cores", "cores", "N", "Cores or slots of a node (8)"},
    {"--map-slots", "map_slots", "N", "Map slots of a node, as in Hadoop 1"},
    {"--reduce-slots", "reduce_slots", "N", "Reduce slots of a node"},
    {"--memory", "memory", "SIZE", "Memory of a node; without it, memory is not accounted for"},
    {"--racks", "racks", "N", "Racks (1)"},
    {"--nic", "network.nic", "SIZE", "With --network: bytes per second of a node, each way"},
    {"--disk", "network.disk", "SIZE", "With --network: bytes per second of a disk, each way"},
    {"--uplink", "network.uplink", "SIZE", "With --network: bytes per second of a rack, each way"},
    {"--oversubscription", "network.oversubscription", "X", "With --network: NICs of a rack over its uplink"},
    {"--replicas", "storage.replicas", "N", "Replicas of inputs (3)"},
    {"--heartbeat", "heartbeat", "TIME", "Nodes report and get tasks this often; 0: at once"},
    {"--slow-start", "slow_start", "X", "Part of the maps that end before reduces start (what the scheduler says, usually 1)"},
    {"--preplace", "preplace", "X", "Part of the maps that end before reduces are placed by predicted sizes (1: never)"},
    {"--shuffle-mode", "shuffle.mode", "memory|pull",
     "memory: outputs in memory, prefetched while maps run; pull: from disk, late (simpler than both)"},
    {"--shuffle-memory", "shuffle.memory", "SIZE", "Of a node for map outputs and prefetched blocks (no limit)"},
    {"--shuffle-replicas", "shuffle_replicas", "1|2", "Nodes that hold each map output, 1 or 2 (1)"},
    {"--speculation", "speculation", "on|off|'on(…)'",
     "Speculative attempts of slow tasks: on, off, or 'on(slower=1.5,shortest=5s,…)' (off)"},
};

std::string table_text(const report::Rows& rows) {
  TextTable table(rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) table.add(rows[i]);
  return table.text();
}

void print_comparison(const report::Comparison& comparison) {
  for (const auto& [label, value] : comparison.facts) print(label + ": " + escaped(value) + "\n");
  print("\n" + table_text(report::summary_rows(comparison)));
  for (const auto& replay : comparison.replays) {
    auto rows = report::replay_rows(replay);
    print("\ncompared with what happened, under " + replay.scheduler + ":\n");
    if (rows.size() > kMostShown + 2) rows.erase(rows.begin() + kMostShown + 1, rows.end() - 1);
    print(table_text(rows));
    if (replay.launches > 0) print(report::launches_text(replay) + "\n");
    if (replay.jobs.size() > kMostShown)
      print(std::to_string(replay.jobs.size() - kMostShown) + " further jobs: see --report and --json\n");
  }
}

void print_deadlines(const report::Comparison& comparison) {
  report::Rows rows = report::deadline_rows(comparison);
  if (rows.size() == 1) print("\nno job has a deadline\n");
  if (rows.size() == 1) return;
  const std::size_t jobs = rows.size() - 2;
  if (jobs > kMostDeadlines) rows.erase(rows.begin() + kMostDeadlines + 1, rows.end() - 1);
  print("\ndeadlines:\n" + table_text(rows));
  if (jobs > kMostDeadlines) print(fmt::format("{} further jobs with deadlines: see --json\n", jobs - kMostDeadlines));
}

/// The directory is made unless it is there.
Result<void> write_csv(const std::filesystem::path& directory, const report::Comparison& comparison) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Code::io, fmt::format("--csv: cannot make the directory {}: {}", directory.string(), error.message()));
  for (const auto& [name, text] : report::to_csv(comparison)) WEFT_TRY(write_file(directory / name, text));
  return {};
}

Result<void> configure(SimulateOptions& options) {
  Config config;
  options.what.cluster.declare(config);
  if (!options.what.from_log.empty()) WEFT_TRY(config.set("preplace=0.05"));  // as a master does
  if (!options.cluster_file.empty()) WEFT_TRY(config.load_file(options.cluster_file));
  for (const std::string& setting : options.settings) WEFT_TRY(config.set(setting == "nodes=trace" ? "trace_hosts=true" : setting));
  if (!options.until.empty()) {
    WEFT_ASSIGN(options.what.until, parse_duration(options.until));
  }
  if (!options.step.empty()) {
    WEFT_ASSIGN(options.what.series_step, parse_duration(options.step));
  }
  return {};
}

/// As a file, as figures, or both.
Result<void> write_workload(const SimulateOptions& options) {
  WEFT_ASSIGN(const Workload workload, experiment::load_workload(options.what));
  if (!options.write_workload.empty())
    WEFT_TRY(workloads::write_jobs(workload, options.write_workload, options.overwrite ? IfExists::replace : IfExists::refuse));
  if (!options.describe) return {};
  const auto figures = workloads::figures_of(workload);
  return print(options.json ? workloads::to_json(workload, figures) : workloads::to_text(workload, figures));
}

Result<void> simulate(SimulateOptions& options) {
  if (options.print_cluster) {
    Config config;
    options.what.cluster.declare(config);
    return print(config.describe());
  }
  if (options.what.workload == "generate:help") return print(workloads::describe_generator());
  WEFT_TRY(configure(options));
  if (options.describe || !options.write_workload.empty()) return write_workload(options);
  options.what.on_stall = [](const Error& why) {
    std::fprintf(stderr, "weft: %s\n", why.to_string().c_str());
    ::_exit(EXIT_FAILURE);
  };
  const bool progress = !options.quiet && ::isatty(STDERR_FILENO) == 1;
  WEFT_ASSIGN(const auto comparison, experiment::run(options.what, [progress](const std::string& line) {
                if (progress) std::fprintf(stderr, "%s\n", line.c_str());
              }));
  if (options.json) {
    print(report::to_json(comparison));
  } else {
    print_comparison(comparison);
    if (options.what.deadlines) print_deadlines(comparison);
  }
  for (const auto& line : report::failures(comparison, kMostShown)) std::fprintf(stderr, "weft: %s\n", escaped(line).c_str());
  if (!options.report.empty()) WEFT_TRY(write_file(options.report, report::to_html(comparison)));
  if (!options.csv.empty()) WEFT_TRY(write_csv(options.csv, comparison));
  if (auto refused = experiment::refusal(comparison)) return fail(std::move(*refused));
  return {};
}

void add_cluster_options(CLI::App& command, SimulateOptions& options) {
  constexpr const char* kGroup = "Cluster";
  std::vector<std::string>& settings = options.settings;
  add_value(command, "--cluster", options.cluster_file, "FILE", "TOML file of the cluster (--print-cluster shows all keys)")
      ->group(kGroup);
  for (const KeyOption& option : kClusterOptions) add_key_option(command, option, settings)->group(kGroup);
  command
      .add_flag_callback(
          "--network", [&settings] { settings.emplace_back("network.flows=true"); },
          "Moving bytes takes time: flows share links max-min fairly")
      ->group(kGroup);
  const auto set = [&settings](const std::vector<std::string>& more) { settings.insert(settings.end(), more.begin(), more.end()); };
  command.add_option_function<std::vector<std::string>>("--set", set, "Any other key of the cluster: --set faults.stragglers=0.05")
      ->type_name("KEY=VALUE")
      ->group(kGroup)
      ->take_all()
      ->delimiter('\0');
  command
      .add_option("--one-machine", options.what.one_machine,
                  "One node with this many units of each resource, and decisions once a second")
      ->group(kGroup);
  command.add_flag("--print-cluster", options.print_cluster, "Print all keys of a cluster with their defaults")->group(kGroup);
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  const Command<SimulateOptions> simulation(app, action, "simulate",
                                            "Run a workload on a cluster in virtual time, under one scheduler or several",
                                            [](SimulateOptions& given) { return simulate(given); });
  CLI::App& command = simulation.app();
  SimulateOptions& options = simulation.options();
  experiment::Options& what = options.what;
  command.footer("Workloads:\n" + workloads::describe_kinds());
  add_value(command, "--workload", what.workload, "KIND:FILE,...", "KIND:FILE[,key=value,...]; the kinds are below");
  add_value(command, "--from-log", what.from_log, "FILE",
            "Event log of a real cluster: replay its jobs, under its scheduler or others");
  add_value(command, "--scheduler", what.schedulers, "SCHEDULER", "NAME or 'NAME(key=value,...)'; several to compare them")
      ->take_all()
      ->delimiter('\0');
  add_value(command, "--scheduler-plugin", what.plugins, "FILE",
            "Shared object with a scheduler of your own (schedulers/plugin.hpp)")
      ->take_all();
  command.add_flag("--describe", options.describe, "Print the workload's figures and simulate nothing");
  add_value(command, "--write-workload", options.write_workload, "FILE", "Write the workload as a jobs file and simulate nothing");
  command.add_flag("--overwrite", options.overwrite, "With --write-workload: replace the file when it exists");
  command.add_option("--seed", what.seed, "Seed of everything random (1)");
  command.add_option("--seeds", what.seeds, "Number of seeds, from --seed on: means and confidence intervals");
  command.add_option("--scale", what.resize.scale, "Multiply the bytes and tasks of each stage");
  command.add_option("--arrival-scale", what.resize.arrival_scale, "Multiply arrival times; 0: all arrive at once");
  command.add_option("--limit-jobs", what.resize.limit, "Only the first jobs of the file");
  add_value(command, "--until", options.until, "TIME", "End the runs at this virtual time");
  add_value(command, "--step", options.step, "TIME", "Time between two points of what is shown over time");
  add_value(command, "--report", options.report, "FILE", "Write an HTML page with plots");
  add_value(command, "--csv", options.csv, "DIR",
            "Write summary, jobs, series, racks and fairness as CSV files into this directory");
  command.add_flag("--deadlines", what.deadlines,
                   "Which deadlines are met under which scheduler (without --scheduler: also adaptive, fair, drf, srtf and fifo)");
  command.add_flag("--json", options.json, "Print JSON instead of a table");
  add_value(command, "--event-log", what.event_log, "FILE", "Write the events of the run, as a master does");
  command.add_flag("--quiet", options.quiet, "Do not report each run");
  add_cluster_options(command, options);
}

}  // namespace weft::tools

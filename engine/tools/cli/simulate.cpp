// weft simulate
#include <cstdio>
#include <filesystem>

#include <fmt/core.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "engine/simulator/experiment/experiment.hpp"
#include "engine/simulator/report/reports.hpp"
#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/generator.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/simulation.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

using namespace simulator;

struct SimulateOptions {
  experiment::Options what;
  SimulatedCluster cluster;
  std::string report, csv, write_workload, until, step;
  bool describe = false, json = false, quiet = false, print_cluster = false, overwrite = false;
};

constexpr std::size_t kMostShown = 10;      // replayed jobs and failures in a terminal
constexpr std::size_t kMostDeadlines = 50;  // jobs with deadlines

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

/// What is wrong with a number of units; nothing: it is finite and above 0.
std::string is_amount(const std::string& text) {
  const double units = parse_number<double>(text).value_or(0);
  return units > 0 && units <= 1e300 ? std::string() : "'" + text + "' is not a number above 0";
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
  WEFT_TRY(use(options.cluster, options.what));
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
  end_on_stall(options.what);
  WEFT_ASSIGN(const auto comparison, experiment::run(options.what, progress_lines(options.quiet)));
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
  if (auto stuck = experiment::never_finished(options.what, comparison)) return fail(std::move(*stuck));
  return {};
}

}  // namespace

void add_simulate(CLI::App& app, Action& action) {
  const Command<SimulateOptions> simulation(app, action, "simulate",
                                            "Run a workload on a cluster in virtual time, under one scheduler or several",
                                            [](SimulateOptions& given) { return simulate(given); });
  CLI::App& command = simulation.app();
  SimulateOptions& options = simulation.options();
  experiment::Options& what = options.what;
  add_workload_options(command, what);
  add_value(command, "--scheduler", what.schedulers, "SCHEDULER", "NAME or 'NAME(key=value,...)'; several to compare them")
      ->take_all()
      ->delimiter('\0');
  command.add_flag("--describe", options.describe, "Print the workload's figures and simulate nothing");
  add_value(command, "--write-workload", options.write_workload, "FILE", "Write the workload as a jobs file and simulate nothing");
  command.add_flag("--overwrite", options.overwrite, "With --write-workload: replace the file when it exists");
  command.add_option("--seed", what.seed, "Seed of everything random (1)");
  add_value(command, "--seeds", what.seeds, "N", "Number of seeds, from --seed on: means and confidence intervals")
      ->check(CLI::Range(std::uint32_t{1}, kMostSeeds));
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
  add_cluster_options(command, options.cluster);
  command
      .add_option("--one-machine", what.one_machine, "One node with this many units of each resource, and decisions once a second")
      ->check(is_amount)
      ->group(kClusterGroup);
  command.add_flag("--print-cluster", options.print_cluster, "Print all keys of a cluster with their defaults")
      ->group(kClusterGroup);
}

}  // namespace weft::tools

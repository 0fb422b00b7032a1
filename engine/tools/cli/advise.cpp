// weft advise
#include "engine/simulator/experiment/advice.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/simulation.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

using namespace simulator;

struct AdviseOptions {
  experiment::AdviceOptions advice;
  SimulatedCluster cluster;
  double known = 0;
  std::string goal;
  bool quick = false, json = false, quiet = false;
};

constexpr std::uint32_t kUsualSeeds = 5;

std::optional<report::Goal> goal_of(const std::string& name) {
  if (name == "mean") return report::Goal::mean;
  if (name == "p95") return report::Goal::tail;
  if (name == "deadlines") return report::Goal::deadlines;
  if (name == "makespan") return report::Goal::makespan;
  return std::nullopt;
}

Result<void> advise(AdviseOptions& options) {
  experiment::Options& what = options.advice.what;
  WEFT_TRY(use(options.cluster, what));
  options.advice.goal = goal_of(options.goal);
  if (options.quick) what.seeds = 1;
  if (what.from_log.empty()) what.known = options.known;
  end_on_stall(what);
  const SystemClock clock;
  WEFT_ASSIGN(const report::Advice advice, experiment::advise(options.advice, clock, progress_lines(options.quiet)));
  print(options.json ? report::to_json(advice) : report::to_text(advice));
  return {};
}

}  // namespace

void add_advise(CLI::App& app, Action& action) {
  const Command<AdviseOptions> advising(
      app, action, "advise", "Say which scheduler suits the jobs of a cluster: simulate them under all, from its event log",
      [](AdviseOptions& given) { return advise(given); });
  CLI::App& command = advising.app();
  AdviseOptions& options = advising.options();
  experiment::Options& what = options.advice.what;
  what.seeds = kUsualSeeds;
  add_workload_options(command, what);
  add_value(command, "--present", options.advice.present, "SCHEDULER",
            "The scheduler to compare with (that of the log, or the default of masters)");
  add_value(command, "--scheduler", what.schedulers, "SCHEDULER", "One to consider beside the usual ones; may be repeated")
      ->take_all()
      ->delimiter('\0');
  add_value(command, "--goal", options.goal, "mean|p95|deadlines|makespan",
            "What is to become better (deadlines where jobs have some, otherwise the mean completion time)")
      ->check(CLI::IsMember({"mean", "p95", "deadlines", "makespan"}));
  add_value(command, "--known", options.known, "X",
            "With --workload: schedulers know the task durations of this part of the jobs, from earlier runs (0)");
  command.add_option("--seed", what.seed, "Seed of everything random (1)");
  add_value(command, "--seeds", what.seeds, "N", "Orders of the jobs, or draws of a random workload, for intervals (5)")
      ->check(CLI::Range(std::uint32_t{1}, kMostSeeds));
  command.add_flag("--quick", options.quick, "One run of each scheduler, without intervals");
  add_duration_option(command, "--budget", options.advice.budget, Zero::refused, "Real time after which no run begins (5min)");
  command.add_flag("--json", options.json, "Print JSON instead of text");
  command.add_flag("--quiet", options.quiet, "Do not report each run");
  add_cluster_options(command, options.cluster);
}

}  // namespace weft::tools

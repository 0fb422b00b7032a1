#include "engine/simulator/experiment/advice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/scheduling/catalogue.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "schedulers/config/options.hpp"
#include "schedulers/default_scheduler.hpp"

namespace weft::simulator::experiment {

namespace {

using report::Advice;
using report::Comparison;
using report::SchedulerRuns;

constexpr std::array kUsual{
    "fair", "srtf",     "tetris", "carbyne", "delay",           "shufflewatcher", "drf", "cogrs(inner=fair)",
    "sjf",  "adaptive", "ras",    "fifo",    "reverse_adaptive"};
/// Those that may take the pools of the present scheduler.
constexpr std::array kWithPools{"fsp", "fair"};
/// Schedulers beside the present one and the default that are simulated with all seeds: the best, and the best to which nothing
/// speaks.
constexpr std::size_t kBest = 2, kBestWithoutObjection = 2;

void add(std::vector<std::string>& list, const std::string& scheduler) {
  if (std::ranges::find(list, scheduler) == list.end()) list.push_back(scheduler);
}

/// "pools.toml" of "fair(pools=pools.toml)", also where that is inside another; empty: it has none.
std::string pools_of(const std::string& spec) {
  const std::size_t at = spec.find("pools=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + std::string_view("pools=").size();
  return std::string(trim(std::string_view(spec).substr(begin, spec.find_first_of(",)", begin) - begin)));
}

/// The present scheduler first, the default second. Those that cannot be made are left out, except the ones that were asked for.
std::vector<std::string> schedulers_to_compare(const AdviceOptions& options, const scheduling::Catalogue& catalogue,
                                               const std::string& present, std::string& preferred) {
  preferred = schedulers::kDefaultScheduler;
  std::vector<std::string> list{present};
  const std::string pools = pools_of(present);
  const auto can_be_made = [&catalogue](const std::string& spec) {
    scheduling::Files files;
    return catalogue.make(spec, files).has_value();
  };
  if (!pools.empty()) {
    for (const char* name : kWithPools) {
      const std::string spec = fmt::format("{}(pools={})", name, pools);
      if (!can_be_made(spec)) continue;
      add(list, spec);
      if (name == preferred) preferred = spec;
    }
  }
  add(list, schedulers::kDefaultScheduler);
  for (const std::string& scheduler : options.what.schedulers) add(list, scheduler);
  for (const char* scheduler : kUsual) add(list, scheduler);
  return list;
}

/// Of one run, the 95th percentile may be that of a single job: the best are simulated again, too, where it speaks against them.
std::vector<std::string> contenders(const Comparison& comparison, report::Goal goal, const std::string& preferred) {
  const Advice first = report::advise(comparison, goal, preferred);
  std::vector<std::string> list{first.present};
  if (std::ranges::any_of(first.candidates, [&](const auto& one) { return one.scheduler == preferred; })) add(list, preferred);
  const auto add_best = [&](std::size_t count, bool any) {
    const std::size_t most = list.size() + count;
    for (const report::Candidate& candidate : first.candidates)
      if (list.size() < most && (any || candidate.objection.empty())) add(list, candidate.scheduler);
  };
  add_best(kBest, true);
  add_best(kBestWithoutObjection, false);
  return list;
}

/// Adds the runs of further seeds, which are of some of its schedulers.
void append(Comparison more, Comparison& comparison) {
  for (SchedulerRuns& runs : more.schedulers) {
    const auto same = std::ranges::find(comparison.schedulers, runs.scheduler, &SchedulerRuns::scheduler);
    std::move(runs.runs.begin(), runs.runs.end(), std::back_inserter(same->runs));
  }
  comparison.seeds.insert(comparison.seeds.end(), more.seeds.begin(), more.seeds.end());
  std::move(more.alone.begin(), more.alone.end(), std::back_inserter(comparison.alone));
}

bool is_random(const Options& options) { return options.workload.starts_with("generate:"); }

bool has_deadlines(const Comparison& comparison) {
  return std::ranges::any_of(comparison.schedulers.front().runs.front().jobs,
                             [](const JobResult& job) { return job.deadline.has_value(); });
}

/// The log on the cluster that it is of, whatever cluster is asked about: how true is the simulator? Nothing when no job ended.
Result<std::optional<report::Accuracy>> accuracy(const AdviceOptions& options, const Comparison& comparison,
                                                 const std::string& recorded, const Progress& progress) {
  const auto found = std::ranges::find(comparison.replays, recorded, &report::Replay::scheduler);
  if (found != comparison.replays.end() && found->launches > 0) return report::accuracy_of(*found);
  Options as_it_was = options.what;
  as_it_was.resize = {};
  as_it_was.schedulers = {recorded};
  as_it_was.seeds = 1;
  const ClusterOptions& asked = options.what.cluster;
  as_it_was.cluster = {};
  as_it_was.cluster.flows = asked.flows;
  as_it_was.cluster.nic = asked.nic;
  as_it_was.cluster.disk = asked.disk;
  as_it_was.cluster.uplink = asked.uplink;
  as_it_was.cluster.shuffle_mode = asked.shuffle_mode;
  as_it_was.cluster.rack_uplinks = asked.rack_uplinks;
  as_it_was.cluster.model = asked.model;
  WEFT_ASSIGN(const Comparison real, run(as_it_was, progress));
  if (real.replays.empty()) return std::optional<report::Accuracy>();
  return std::optional(report::accuracy_of(real.replays.front()));
}

/// Slots of the log's cluster over those that are asked about; 1: the same, or unknown.
double fewer_slots(const AdviceOptions& options, const workloads::Recording& recording) {
  if (options.what.cluster.nodes == 0 || recording.nodes.empty()) return 1;
  double now = 0, then = 0;
  for (const auto& node : recording.nodes) then += node.capacity.cpu;
  for (std::uint32_t i = 0; i < options.what.cluster.nodes; ++i)
    now += options.what.cluster.cores.value_or(recording.nodes[i % recording.nodes.size()].capacity.cpu);
  return now > 0 ? then / now : 1;
}

void warn_of_network(const Options& what, const workloads::Recording* recording, Advice& advice) {
  if (what.cluster.flows || what.one_machine > 0) return;
  if (recording == nullptr) {
    advice.warnings.push_back({"moving bytes takes no time here, so that nothing is gained by moving fewer",
                               "give --network, --nic, --disk, and --oversubscription of the racks"});
    return;
  }
  bool uplinks = false;
  for (const auto& node : recording->nodes) uplinks = uplinks || node.rack_uplink.up > 0;
  advice.warnings.push_back(
      {"tasks wait for bytes as long as they did then, wherever they run, so that nothing is gained by moving fewer",
       fmt::format("give --network, --nic and --disk{}",
                   uplinks ? " (the log knows the uplinks)" : ", and --uplink where there are racks: the log names no rates")});
}

void warn(const AdviceOptions& options, const Comparison& comparison, const workloads::Recording* recording, Advice& advice) {
  constexpr double kIdle = 0.25, kWrong = 0.1;
  constexpr std::size_t kFewJobs = 10;
  warn_of_network(options.what, recording, advice);
  const RunResult& present = comparison.schedulers.front().runs.front();
  if (present.jobs.size() < kFewJobs)
    advice.warnings.push_back({fmt::format("{} jobs say little: take the log of a longer time", present.jobs.size()), ""});
  if (present.utilisation.cpu > 0 && present.utilisation.cpu < kIdle) {
    const double scale = recording != nullptr ? fewer_slots(options, *recording) : 1;
    advice.warnings.push_back(
        {fmt::format("the cluster is idle for {:.0f} % of the time, so that schedulers matter little",
                     100 * (1 - present.utilisation.cpu)),
         scale < 1 ? fmt::format("--arrival-scale {:.2g} gives each slot as much work as it had", scale) : ""});
  }
  if (advice.accuracy && std::abs(advice.accuracy->error()) > kWrong)
    advice.warnings.push_back({fmt::format("the simulator is {:.0f} % off on this log: differences of less are uncertain",
                                           100 * std::abs(advice.accuracy->error())),
                               options.what.cluster.flows ? "are --nic, --disk and --uplink those of the cluster?" : ""});
}

/// What the present scheduler is, and the recording, if there is one.
struct Present {
  std::string scheduler;
  std::optional<workloads::Recording> recording;
};

Result<Present> present_of(const AdviceOptions& options) {
  Present present{options.present, {}};
  if (!options.what.from_log.empty()) {
    WEFT_ASSIGN(present.recording, workloads::read_event_log(options.what.from_log, options.what.cluster.flows, options.what.last));
    if (present.scheduler.empty()) present.scheduler = present.recording->scheduler;
  }
  if (present.scheduler.empty()) present.scheduler = schedulers::kDefaultScheduler;
  return present;
}

}  // namespace

Result<Advice> advise(const AdviceOptions& options, const Clock& clock, const Progress& progress) {
  if (options.what.workload.empty() && options.what.from_log.empty())
    return fail(Code::invalid_argument, "give the event log of a cluster (--from-log FILE), or --workload KIND:FILE");
  const TimePoint end = clock.now() + options.budget;
  const auto enough = [&clock, end] { return clock.now() >= end; };
  WEFT_ASSIGN(const auto catalogue, scheduling::Catalogue::open(options.what.plugins));
  WEFT_ASSIGN(const Present present, present_of(options));
  std::string preferred;
  Options first = options.what;
  first.schedulers = schedulers_to_compare(options, *catalogue, present.scheduler, preferred);
  first.seeds = 1;
  first.enough = enough;
  WEFT_ASSIGN(Comparison comparison, run(first, progress));
  const std::size_t left_out = first.schedulers.size() - comparison.schedulers.size();
  if (comparison.schedulers.size() == 1 && left_out > 0)
    return fail(
        Code::invalid_argument,
        fmt::format("the time ({}) is over after the first run: ask about fewer jobs (--last, --limit-jobs), or give more time "
                    "(--budget)",
                    format_duration(options.budget)));
  const report::Goal goal = options.goal.value_or(has_deadlines(comparison) ? report::Goal::deadlines : report::Goal::mean);
  if (left_out == 0 && options.what.seeds > 1) {
    Options further = options.what;
    further.schedulers = contenders(comparison, goal, preferred);
    further.seed = options.what.seed + 1;
    further.seeds = options.what.seeds - 1;
    further.reorder = !is_random(options.what);
    further.enough = enough;
    if (!enough()) {
      WEFT_ASSIGN(Comparison more, run(further, progress));
      append(std::move(more), comparison);
    }
  }
  Advice advice = report::advise(comparison, goal, preferred);
  advice.variation = is_random(options.what) ? "draws of the workload" : "orders in which the jobs may arrive";
  if (present.recording && !present.recording->scheduler.empty()) {
    WEFT_ASSIGN(advice.accuracy, accuracy(options, comparison, present.recording->scheduler, progress));
  }
  warn(options, comparison, present.recording ? &*present.recording : nullptr, advice);
  if (left_out > 0 || comparison.seeds.size() < options.what.seeds)
    advice.warnings.push_back(
        {fmt::format("the time is over ({}): {} of {} schedulers, {} of {} seeds", format_duration(options.budget),
                     comparison.schedulers.size(), first.schedulers.size(), comparison.seeds.size(), options.what.seeds),
         "give a larger --budget, or --limit-jobs"});
  return advice;
}

}  // namespace weft::simulator::experiment

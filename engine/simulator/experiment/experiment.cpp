#include "engine/simulator/experiment/experiment.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/counted.hpp"
#include "base/text.hpp"
#include "engine/master/scheduling/catalogue.hpp"
#include "engine/master/scheduling/stall_watch.hpp"
#include "engine/simulator/experiment/event_log_file.hpp"
#include "engine/simulator/experiment/launches_alike.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/simulate.hpp"
#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "engine/simulator/workloads/variations.hpp"
#include "schedulers/default_scheduler.hpp"

namespace weft::simulator::experiment {

namespace {

using report::Comparison;

/// What is simulated with one seed.
struct Setting {
  Workload workload;
  ClusterModel model;
  // Of a log.
  std::vector<std::optional<Time>> recorded_ends;  // by job
  std::string recorded_scheduler;
  scheduling::Files recorded_files;
  // Of a log that is replayed on the cluster as it was, else empty.
  std::vector<workloads::RecordedLaunch> recorded_launches;
  std::vector<std::string> recorded_nodes;  // the names of the machines
  std::vector<InjectedEvent> injected;
};

/// Takes launches and events from the log, for a run on the cluster as it was. Heartbeats are left out where transfers are
/// simulated, because the simulated nodes measure those.
void replay_events(workloads::Recording& recording, Setting& setting) {
  setting.recorded_launches = std::move(recording.launches);
  for (const NodeGroup& group : setting.model.groups) setting.recorded_nodes.push_back(group.hosts.front());
  for (workloads::RecordedEvent& event : recording.events) {
    const auto* beat = std::get_if<master::WorkerHeartbeat>(&event.event);
    if (setting.model.network.flows && beat != nullptr && !beat->capacity) continue;
    setting.injected.push_back({event.at, event.node, std::move(event.event)});
  }
}

bool nodes_as_recorded(const std::vector<workloads::RecordedNode>& nodes, const ClusterModel& model) {
  return std::ranges::equal(nodes, model.groups, [](const workloads::RecordedNode& node, const NodeGroup& group) {
    return !group.hosts.empty() && group.speed == 1 && group.capacity == node.capacity;
  });
}

bool random_workload(const std::string& text) {
  return text.starts_with("generate:") || text.find(",sample=") != std::string::npos || text.find(",gap=") != std::string::npos;
}

Result<Workload> read_workload(const Options& options, std::uint64_t seed) {
  workloads::Context context;
  context.seed = seed;
  if (options.one_machine <= 0) context.machine = options.cluster.machine();
  return workloads::load(options.workload, context);
}

Result<Setting> set_up(const Options& options, std::uint64_t seed) {
  Setting setting;
  workloads::Recording recording;
  const std::vector<workloads::RecordedNode>& nodes = recording.nodes;
  const bool as_it_was = options.resize.scale == 1 && options.resize.arrival_scale == 1 && !options.reorder;
  if (!options.from_log.empty()) {
    WEFT_ASSIGN(recording, workloads::read_event_log(options.from_log, options.cluster.flows, options.last));
    setting.workload = std::move(recording.workload);
    setting.workload.name = "log:" + options.from_log;
    setting.recorded_scheduler = recording.scheduler;
    setting.recorded_files = recording.scheduler_files;
    for (const auto& job : recording.jobs) setting.recorded_ends.push_back(as_it_was ? job.ended : std::nullopt);
  } else {
    WEFT_ASSIGN(setting.workload, read_workload(options, seed));
    if (options.known) workloads::forget(setting.workload, *options.known, seed);
  }
  WEFT_TRY(workloads::resize(setting.workload, options.resize));
  if (options.reorder && !random_workload(options.workload)) workloads::reorder(setting.workload, seed);
  WEFT_ASSIGN(setting.model, options.cluster.build(setting.workload.hosts));
  if (options.one_machine > 0) {
    const ClusterModel machine = ClusterModel::one_machine(options.one_machine);
    setting.model.groups = machine.groups;
    setting.model.racks = machine.racks;
    setting.model.storage = machine.storage;
    if (setting.model.step == Time{0}) setting.model.step = machine.step;
    WEFT_TRY(validate(setting.model));
  } else if (!nodes.empty() && !options.cluster.trace_hosts) {
    WEFT_TRY(use_recorded_nodes(nodes, options.cluster, setting.model));
    if (as_it_was && options.resize.limit == 0 && nodes_as_recorded(nodes, setting.model)) replay_events(recording, setting);
  }
  if (recording.speculation && options.cluster.speculation.empty()) setting.model.speculation = *recording.speculation;
  return setting;
}

/// Of a run, in seconds: from the arrivals and the work.
double expected_length(const Setting& setting) {
  double slots = 0, work = 0;
  for (const NodeGroup& group : setting.model.groups) slots += group.capacity.cpu * group.count;
  Time longest{0};
  for (const JobSpec& job : setting.workload.jobs) {
    longest = std::max(longest, job.arrival + report::time_alone(job));
    for (const StageSpec& stage : job.stages) {
      const double cpu = stage.demand == schedulers::Resources{} ? 1 : stage.demand.cpu;
      work += in_seconds(stage.mean_duration()) * stage.tasks * cpu;
    }
  }
  return std::max(in_seconds(longest), work / std::max(slots, 1e-9));
}

/// About 500 steps, rounded to whole seconds where they are longer.
Time series_step(const Setting& setting) {
  const double step = expected_length(setting) / 500;
  if (step >= 1) return std::chrono::seconds(static_cast<std::int64_t>(std::min(step, 1e6)) + 1);
  return std::max(Time(std::chrono::milliseconds(1)), Time(static_cast<std::int64_t>(step * 1e9)));
}

/// More of them take minutes and gigabytes.
constexpr double kMostPoints = 1e5;

/// `step` is that of the options. `until` ends a run, where it comes first.
Result<void> check_step(const Options& options, const Setting& setting) {
  if (options.series_step <= Time(0)) return {};
  double length = expected_length(setting);
  if (options.until) length = std::min(length, in_seconds(*options.until));
  if (length / in_seconds(options.series_step) <= kMostPoints) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("--step: about {:.3g} points in the {:.0f} s of a run, and at most {:.0f} are kept: give at least {:.3g}s",
                  length / in_seconds(options.series_step), length, kMostPoints, length / kMostPoints));
}

/// Compares the launches of a run with those of a log.
class LaunchObserver {
 public:
  explicit LaunchObserver(const Setting& setting) {
    for (std::uint32_t i = 0; i < setting.recorded_nodes.size(); ++i) positions_[setting.recorded_nodes[i]] = i;
  }
  void observe(RunOptions& run) {
    run.on_event = [this, inner = run.on_event](Time at, const master::Event& event) {
      if (const auto* joined = std::get_if<master::WorkerJoined>(&event)) nodes_[joined->node] = positions_.at(joined->name);
      if (inner) inner(at, event);
    };
    run.on_command = [this, inner = run.on_command](Time at, const master::Command& command) {
      if (const auto* launch = std::get_if<master::LaunchTask>(&command)) {
        const TaskId& task = launch->attempt.task;
        launches_.push_back(
            {static_cast<std::uint32_t>(task.job.value() - 1), task.stage.value(), task.index, nodes_[launch->node]});
      }
      if (inner) inner(at, command);
    };
  }
  const std::vector<workloads::RecordedLaunch>& launches() const { return launches_; }

 private:
  std::map<std::string, std::uint32_t> positions_;
  std::map<NodeId, std::uint32_t> nodes_;
  std::vector<workloads::RecordedLaunch> launches_;
};

/// The scheduler of the log is made with the files that it had then, if the log has them.
Result<std::unique_ptr<schedulers::Scheduler>> make_scheduler(const std::shared_ptr<const scheduling::Catalogue>& catalogue,
                                                              const Setting& setting, const std::string& scheduler) {
  if (scheduler == setting.recorded_scheduler && !setting.recorded_files.empty())
    return scheduling::Catalogue::factory(catalogue)(scheduler, setting.recorded_files);
  WEFT_ASSIGN(scheduling::Files files, scheduling::Catalogue::check(catalogue, scheduler, kStallTimeout));
  return catalogue->make(scheduler, files);
}

/// The events to inject. Configurations are among them only under the scheduler of the log, and if the factory can make them; with
/// `own_speculation` they leave it as the options say.
std::vector<InjectedEvent> injected_under(const Setting& setting, const std::string& scheduler,
                                          const master::SchedulerFactory& factory, bool own_speculation) {
  std::vector<InjectedEvent> injected;
  for (const InjectedEvent& event : setting.injected) {
    const auto* configured = std::get_if<master::SchedulerConfigured>(&event.event);
    if (configured != nullptr && (scheduler != setting.recorded_scheduler || !factory(configured->spec, configured->files)))
      continue;
    injected.push_back({event.at, event.machine, master::copy_of(event.event)});
    if (configured != nullptr && own_speculation) std::get<master::SchedulerConfigured>(injected.back().event).speculation.reset();
  }
  return injected;
}

Result<RunResult> run_once(const Options& options, const std::shared_ptr<const scheduling::Catalogue>& catalogue,
                           const Setting& setting, std::uint64_t seed, const std::string& scheduler) {
  WEFT_ASSIGN(auto made, make_scheduler(catalogue, setting, scheduler));
  RunOptions run;
  run.factory = scheduling::Catalogue::factory(catalogue);
  run.injected = injected_under(setting, scheduler, run.factory, !options.cluster.speculation.empty());
  run.series_step = options.series_step > Time{0} ? options.series_step : series_step(setting);
  run.until = options.until;
  std::optional<EventLogFile> log;
  if (!options.event_log.empty()) {
    WEFT_ASSIGN(log, EventLogFile::create(options.event_log, scheduler));
    run.on_event = [&log](Time at, const master::Event& event) { log->add(at, event); };
    run.on_command = [&log](Time at, const master::Command& command) { log->add(at, command); };
  }
  std::optional<scheduling::StallWatch> watch;
  if (catalogue->has_plugins() && options.on_stall) {
    watch.emplace(kStallTimeout, [&options, &scheduler] {
      options.on_stall(Error(Code::internal, fmt::format("the scheduler {} has not returned for {}; repair it", scheduler,
                                                         format_duration(kStallTimeout))));
    });
    run.on_event = [&watch, inner = run.on_event](Time at, const master::Event& event) {
      watch->alive();
      if (inner) inner(at, event);
    };
  }
  LaunchObserver launches(setting);
  if (!setting.recorded_launches.empty()) launches.observe(run);
  ClusterModel model = setting.model;
  model.seed = seed;
  WEFT_ASSIGN(RunResult result, simulate(setting.workload, model, std::move(made), run));
  if (log) WEFT_TRY(log->close());
  if (!setting.recorded_launches.empty()) {
    result.launches_recorded = setting.recorded_launches.size();
    result.launches_alike = experiment::launches_alike(setting.recorded_launches, launches.launches());
  }
  result.scheduler = scheduler;
  result.workload = setting.workload.name;
  result.seed = seed;
  return result;
}

/// Adds the schedulers under which deadlines are compared, except those that are in the list.
void add_others(std::vector<report::SchedulerRuns>& schedulers) {
  for (const char* other : {"adaptive", "fair", "drf", "srtf", "fifo"}) {
    if (std::none_of(schedulers.begin(), schedulers.end(), [other](const auto& one) { return one.scheduler == other; }))
      schedulers.push_back({other, {}});
  }
}

/// Runs at a time. With plugins one after the other, because plugins may share state between threads.
std::size_t runs_at_a_time(const scheduling::Catalogue& catalogue) {
  return catalogue.has_plugins() ? 1 : std::max(1u, std::thread::hardware_concurrency());
}

struct PlannedRun {
  std::shared_ptr<const Setting> setting;
  std::uint64_t seed = 0;
  std::string scheduler;
};

/// The results are in the order of the runs, nothing where there was enough before. Runs share the processors, which changes no
/// result.
std::vector<std::optional<Result<RunResult>>> run_each(const Options& options,
                                                       const std::shared_ptr<const scheduling::Catalogue>& catalogue,
                                                       const std::vector<PlannedRun>& planned) {
  std::vector<std::optional<Result<RunResult>>> results(planned.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < planned.size() && (i == 0 || !options.enough || !options.enough()); i = next++)
      results[i] = run_once(options, catalogue, *planned[i].setting, planned[i].seed, planned[i].scheduler);
  };
  {
    std::vector<std::future<void>> others;  // wait for what they started when they go
    for (std::size_t i = 1; i < std::min(runs_at_a_time(*catalogue), planned.size()); ++i)
      others.push_back(std::async(std::launch::async, work));
    work();
    for (auto& other : others) other.get();
  }
  return results;
}

/// Names of the resources that tasks demand and no node accounts for: these demands limit nothing.
std::string unaccounted_demands(const Setting& setting) {
  std::vector<std::string> names;
  for (const auto& kind : schedulers::kResourceKinds) {
    const auto asks = [&kind](const StageSpec& stage) { return stage.demand.*kind.amount > 0; };
    const bool asked =
        std::ranges::any_of(setting.workload.jobs, [&](const JobSpec& job) { return std::ranges::any_of(job.stages, asks); });
    const bool known = std::ranges::any_of(setting.model.groups,
                                           [&kind](const NodeGroup& group) { return schedulers::accounted(kind, group.capacity); });
    if (asked && !known) names.emplace_back(kind.name);
  }
  return join(names, ", ");
}

void add_facts(const Options& options, const Setting& setting, Comparison& comparison) {
  const auto figures = workloads::figures_of(setting.workload);
  auto& facts = comparison.facts;
  facts.emplace_back("workload", setting.workload.name);
  facts.emplace_back("jobs", fmt::format("{} with {} stages and {} tasks, over {:.0f} s, mean gap {:.2f} s", figures.jobs,
                                         figures.stages, figures.tasks, in_seconds(figures.span), figures.mean_gap));
  facts.emplace_back("cluster", describe(setting.model));
  if (options.resize.scale != 1) facts.emplace_back("scale", fmt::format("{}", options.resize.scale));
  if (options.resize.arrival_scale != 1) facts.emplace_back("arrival scale", fmt::format("{}", options.resize.arrival_scale));
  facts.emplace_back("seeds", options.seeds == 1 ? fmt::format("{}", options.seed)
                                                 : fmt::format("{} to {}", options.seed, options.seed + options.seeds - 1));
  if (const std::string names = unaccounted_demands(setting); !names.empty())
    facts.emplace_back("not accounted for", names + ": tasks ask for it, but no node says how much it has, so it limits nothing");
  if (!setting.workload.notes.empty()) facts.emplace_back("notes", join(setting.workload.notes, "; "));
}

/// Everything that does not depend on the seed.
void begin(const Options& options, const Setting& setting, Comparison& comparison) {
  comparison.title = setting.workload.name;
  add_facts(options, setting, comparison);
  for (const auto& scheduler : options.schedulers) comparison.schedulers.push_back({scheduler, {}});
  const std::string& recorded = setting.recorded_scheduler;
  if (comparison.schedulers.empty())
    comparison.schedulers.push_back({recorded.empty() ? schedulers::kDefaultScheduler : recorded, {}});
  if (options.deadlines && options.schedulers.empty()) add_others(comparison.schedulers);
}

/// Adds a run of the scheduler at that position, and comparisons of runs with the first seed with what is recorded.
void add_run(RunResult result, const Setting& setting, std::size_t scheduler, const Progress& progress, Comparison& comparison) {
  auto& runs = comparison.schedulers[scheduler];
  progress(fmt::format("{}, seed {}: makespan {:.1f} s, simulated in {:.2f} s", runs.scheduler, result.seed,
                       in_seconds(result.makespan), in_seconds(result.wall_time)));
  if (runs.runs.empty() && !setting.recorded_ends.empty()) {
    report::Replay replay = report::compare_with_recording(result, setting.recorded_ends);
    if (!replay.jobs.empty()) comparison.replays.push_back(std::move(replay));
  }
  runs.runs.push_back(std::move(result));
}

/// Adds the runs of each seed. False: some were left out, as `Options::enough` says.
Result<bool> add_runs(const std::vector<PlannedRun>& planned, std::vector<std::optional<Result<RunResult>>>& results,
                      const Progress& progress, Comparison& comparison) {
  const std::size_t schedulers = comparison.schedulers.size();
  for (std::size_t begin = 0; begin < planned.size(); begin += schedulers) {
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(begin);
    const bool all =
        std::all_of(first, first + static_cast<std::ptrdiff_t>(schedulers), [](const auto& one) { return one.has_value(); });
    if (!all && !comparison.seeds.empty()) return false;
    const Setting& setting = *planned[begin].setting;
    comparison.seeds.push_back(planned[begin].seed);
    auto& alone = comparison.alone.emplace_back();
    for (const JobSpec& job : setting.workload.jobs) alone.push_back(report::time_alone(job));
    for (std::size_t i = 0; i < schedulers; ++i) {
      if (!results[begin + i]) continue;
      WEFT_ASSIGN(RunResult result, std::move(*results[begin + i]));
      add_run(std::move(result), setting, i, progress, comparison);
    }
    std::erase_if(comparison.schedulers, [](const report::SchedulerRuns& one) { return one.runs.empty(); });
    if (!all) return false;
  }
  return true;
}

Result<void> check(const Options& options) {
  if (options.workload.empty() == options.from_log.empty()) {
    return fail(Code::invalid_argument, "give either --workload KIND:FILE or --from-log FILE");
  }
  if (options.last > Duration(0) && options.from_log.empty())
    return fail(Code::invalid_argument, "--last is a time before the end of an event log: give --from-log FILE, too");
  if (options.seeds == 0) return fail(Code::invalid_argument, "--seeds must be at least 1");
  const bool others = options.deadlines && options.schedulers.empty();  // add_others()
  if (!options.event_log.empty() && (options.seeds > 1 || options.schedulers.size() > 1 || others)) {
    return fail(Code::invalid_argument,
                others ? "--event-log is of one run, and --deadlines compares several schedulers: give one --scheduler and one seed"
                       : "--event-log is of one run: give one --scheduler and one seed");
  }
  if (options.known && !(*options.known >= 0 && *options.known <= 1))
    return fail(Code::invalid_argument, fmt::format("--known must be a number from 0 to 1, not {}", *options.known));
  if (!(options.one_machine >= 0 && options.one_machine <= 1e300))
    return fail(Code::invalid_argument, "--one-machine needs a positive number of units");
  if (options.one_machine > 0 && options.cluster.names_nodes())
    return fail(Code::invalid_argument,
                "--one-machine is the whole cluster: leave out what says how many nodes and racks there are, and what a node has");
  return {};
}

}  // namespace

Result<Workload> load_workload(const Options& options) {
  WEFT_TRY(check(options));
  if (!options.from_log.empty()) {
    WEFT_ASSIGN(Setting setting, set_up(options, options.seed));
    return std::move(setting.workload);
  }
  WEFT_ASSIGN(Workload workload, read_workload(options, options.seed));
  WEFT_TRY(workloads::resize(workload, options.resize));
  return workload;
}

Result<Comparison> run(const Options& options, const Progress& progress) {
  WEFT_TRY(check(options));
  WEFT_ASSIGN(const auto catalogue, scheduling::Catalogue::open(options.plugins));
  Comparison comparison;
  std::shared_ptr<const Setting> setting;
  const auto at_once = static_cast<std::uint32_t>(std::min<std::size_t>(options.seeds, runs_at_a_time(*catalogue)));
  for (std::uint32_t first = 0; first < options.seeds; first += std::min(at_once, options.seeds - first)) {
    std::vector<PlannedRun> planned;
    for (std::uint32_t i = first; i < std::min<std::uint64_t>(options.seeds, std::uint64_t{first} + at_once); ++i) {
      const std::uint64_t seed = options.seed + i;
      if (i == 0 || options.reorder || options.known || random_workload(options.workload)) {
        WEFT_ASSIGN(Setting made, set_up(options, seed));
        WEFT_TRY(check_step(options, made));
        setting = std::make_shared<const Setting>(std::move(made));
      }
      if (i == 0) begin(options, *setting, comparison);
      for (const auto& runs : comparison.schedulers) planned.push_back({setting, seed, runs.scheduler});
    }
    auto results = run_each(options, catalogue, planned);
    WEFT_ASSIGN(const bool all, add_runs(planned, results, progress, comparison));
    if (!all) break;
  }
  if (options.seeds > 1 && !report::varies(comparison))
    comparison.facts.emplace_back(
        "randomness", options.from_log.empty() ? "none: all seeds gave the same run; only real times have intervals"
                                               : "none: the replay is the same with every seed; only real times have intervals");
  return comparison;
}

std::optional<Error> refusal(const Comparison& comparison) {
  std::size_t count = 0;
  const JobResult* first = nullptr;
  for (const auto& runs : comparison.schedulers)
    for (const RunResult& one : runs.runs)
      for (const JobResult& job : one.jobs) {
        if (job.outcome != Outcome::refused) continue;
        if (first == nullptr) first = &job;
        ++count;
      }
  if (first == nullptr) return std::nullopt;
  return Error(Code::invalid_argument,
               fmt::format("{} jobs were refused; the first, {}: {}", count, escaped(first->name), first->error));
}

std::optional<Error> never_finished(const Options& options, const Comparison& comparison) {
  if (options.until) return std::nullopt;
  std::size_t count = 0;
  const RunResult* run = nullptr;
  const JobResult* first = nullptr;
  for (const auto& runs : comparison.schedulers)
    for (const RunResult& one : runs.runs)
      for (const JobResult& job : one.jobs) {
        if (job.outcome != Outcome::unfinished) continue;
        if (first == nullptr) run = &one, first = &job;
        ++count;
      }
  if (first == nullptr) return std::nullopt;
  return Error(
      Code::unavailable,
      fmt::format("{} never finished; the first, {}, under {}: after {:.1f} s nothing more happened that could end it. Look at its "
                  "tasks (--report) and at what the nodes have, or end runs at a time (--until)",
                  counted(count, "job"), escaped(first->name), run->scheduler, in_seconds(run->end)));
}

}  // namespace weft::simulator::experiment

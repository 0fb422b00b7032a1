// The Resource-aware Adaptive Scheduler: Polo et al., Middleware 2011; Polo's thesis, chapter 4.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"
#include "schedulers/parts/composed.hpp"
#include "schedulers/parts/job_slots.hpp"
#include "schedulers/parts/utility.hpp"
#include "schedulers/policies/ras.hpp"

namespace weft::papers {
namespace {

const char* const kPaging =
    "Fair pays more for memory here than it did there: two reduces hold 60 % of a tracker each beside its maps, and the model lets "
    "such a node page";

const char* const kWorst =
    "not by paging: without it the ratio is the same (below); how much faster the thesis's tasks were alone on a tracker is not "
    "told";

using schedulers::Resources;

const char* const kRasPaper = "Polo et al., Resource-Aware Adaptive Scheduling, Middleware 2011";
constexpr std::uint32_t kTrackers = 20;

/// Parts of a tracker: processor, disk (read and written alike) and memory.
Resources of_tracker(double cpu, double disk, double memory) {
  return {.cpu = cpu, .memory = memory, .disk_read = disk / 2, .disk_write = disk / 2};
}

struct Application {
  const char* name;
  Resources map, shuffle, reduce;  // shuffle: while all five maps are fetched at a time that are
  double map_seconds;
};
const Application kSort{"sort", of_tracker(.30, .45, .25), of_tracker(0, .0075, .60), of_tracker(.20, .50, .60), 24};
const Application kCombine{"combine", of_tracker(.25, .10, .10), of_tracker(0, .00075, .25), of_tracker(.10, .10, .25), 120};
const Application kSelect{"select", of_tracker(.15, .20, .10), of_tracker(0, .00075, .25), of_tracker(.10, .10, .25), 32};

struct MixedJob {
  const char* name;
  const Application& application;
  int submitted;
  std::uint32_t gigabytes, reduces;
  double reduce_seconds, goal;  // the goal of the second experiment, since the beginning
};
/// By submission. The published lengths in isolation decide how long tasks take: the text does not say.
const std::array<MixedJob, 9> kMixedJobs{{{"J1", kSort, 0, 90, 20, 305, 3000},
                                          {"J2", kCombine, 100, 5, 1, 100, 850},
                                          {"J3", kSelect, 200, 10, 1, 20, 1250},
                                          {"J4", kSelect, 350, 25, 1, 20, 1100},
                                          {"J5", kSelect, 500, 5, 1, 20, 950},
                                          {"J6", kCombine, 600, 13, 1, 100, 2600},
                                          {"J7", kCombine, 1100, 50, 1, 100, 6000},
                                          {"J8", kSort, 2500, 19, 20, 65, 3400},
                                          {"J9", kSort, 3750, 6, 20, 21, 4250}}};

Time of_seconds(double count) { return Time(std::llround(count * 1e9)); }

/// `relaxed`: the goals of the first experiment, a day; otherwise those of the second.
Workload gridmix_jobs(bool relaxed) {
  std::vector<JobSpec> list;
  for (const MixedJob& one : kMixedJobs) {
    JobSpec spec = job(seconds(one.submitted), {stage(one.gigabytes * 16, of_seconds(one.application.map_seconds)),
                                                stage(one.reduces, of_seconds(one.reduce_seconds), {0})});
    spec.name = spec.options.pool = spec.options.user = one.name;
    spec.hints.map_profile = one.application.map;
    spec.hints.shuffle_profile = one.application.shuffle;
    spec.hints.reduce_profile = one.application.reduce;
    spec.deadline = relaxed ? seconds(86400) : of_seconds(one.goal) - spec.arrival;
    list.push_back(std::move(spec));
  }
  return jobs(std::move(list));
}

/// With slots, typed ones; without, a tracker holds as many tasks as a scheduler likes. `pages`: whether too little memory costs
/// time.
ClusterModel trackers(double map_slots, bool pages = true) {
  ClusterModel model = cluster(kTrackers, 100);
  if (map_slots > 0) {
    model.groups[0].capacity.map_slots = map_slots;
    model.groups[0].capacity.reduce_slots = 2;
  }
  model.interference.cpu = model.interference.disk = 1;
  model.interference.memory = pages ? 1 : 0;
  model.heartbeat = seconds(1);
  model.slow_start = 0.05;
  return model;
}

/// By job, its utility in each control cycle.
using Utilities = std::map<std::string, simulator::report::Points>;

RunResult run_ras(const Workload& workload, double overcommit, Utilities* utilities = nullptr, bool pages = true) {
  schedulers::JobSlotsOptions options;
  options.use.node = of_tracker(1, 1, 1);
  options.use.overcommit.part = overcommit;
  options.react = seconds(1);  // no sooner than nodes report
  auto slots = std::make_unique<schedulers::JobSlots>(options, schedulers::slot_goals());
  if (utilities != nullptr) {
    slots->watch([&, utilities](Time now, JobId id, const schedulers::JobSlots::Standing& standing) {
      (*utilities)[workload.jobs[id.value() - 1].name].push_back({in_seconds(now), standing.utility});
    });
  }
  schedulers::Composition parts;
  parts.jobs = std::move(slots);
  RunOptions told;
  told.series_step = seconds(10);
  return bench::need(
      simulator::simulate(workload, trackers(0, pages), std::make_unique<schedulers::Composed>("ras", std::move(parts)), told));
}

RunResult run_fair(const Workload& workload, int slots, bool pages = true) {
  RunOptions options;
  options.series_step = seconds(10);
  return run(workload, trackers(slots, pages), "fair", options);
}

/// Tasks of a tracker, in the mean until the last job has ended.
double concurrency(const RunResult& result) {
  double sum = 0;
  const auto& samples = result.series.samples;
  for (const auto& sample : samples) sum += sample.running_tasks;
  return sum / static_cast<double>(samples.size()) / kTrackers;
}

double fewer_tasks(const RunResult& ours, const RunResult& theirs) {
  const std::size_t both = std::min(ours.series.samples.size(), theirs.series.samples.size());
  double count = 0;
  for (std::size_t i = 0; i < both; ++i)
    count += ours.series.samples[i].running_tasks < theirs.series.samples[i].running_tasks ? 1 : 0;
  return count / static_cast<double>(both);
}

std::vector<Curve> curves_of(const Utilities& utilities, const char* application) {
  std::vector<Curve> curves;
  for (const MixedJob& one : kMixedJobs) {
    if (one.application.name != std::string(application)) continue;
    if (const auto found = utilities.find(one.name); found != utilities.end()) curves.push_back({one.name, found->second, false});
  }
  return curves;
}

void add_utilities(Findings& found, const Utilities& utilities, const std::string& name, const std::string& title) {
  for (const char* application : {"sort", "combine", "select"})
    found.charts.push_back(line_chart(fmt::format("ras-{}-{}.svg", name, application), fmt::format("{}: {}", title, application),
                                      "s", "utility", curves_of(utilities, application)));
}

Findings relaxed_goals(const Context&) {
  const Workload workload = gridmix_jobs(true);
  std::vector<RunResult> fair;
  Curve by_slots{"Fair", {}, false}, ours{"RAS", {}, false};
  for (int slots = 1; slots <= 8; ++slots) {
    fair.push_back(run_fair(workload, slots));
    by_slots.points.push_back({static_cast<double>(slots), in_seconds(fair.back().makespan)});
  }
  const auto [best, worst] = std::ranges::minmax_element(fair, std::less<>(), &RunResult::makespan);
  Utilities utilities;
  const RunResult ras = run_ras(workload, 0, &utilities);
  const double makespan = in_seconds(ras.makespan);
  for (const auto& point : by_slots.points) ours.points.push_back({point.x, makespan});
  Findings found;
  found.figures = {{"RA-1: map slots a tracker with which Fair ends first",
                    "4",
                    single(static_cast<double>(best - fair.begin() + 1)),
                    Unit::number,
                    {3, 5}},
                   {"RA-1: makespan of Fair, the worst over the best",
                    "about 9000 / 4781 s = 1.9",
                    single(in_seconds(worst->makespan) / in_seconds(best->makespan)),
                    Unit::number,
                    {1.6, 2.4},
                    kWorst},
                   {"RA-2: makespan of RAS, against the best of Fair",
                    "−5 %",
                    single(makespan / in_seconds(best->makespan) - 1),
                    Unit::change,
                    {-0.12, -0.02},
                    kPaging},
                   {"RA-2: makespan of the worst of Fair, against RAS", "about +100 %",
                    single(in_seconds(worst->makespan) / makespan - 1), Unit::change, at_least(0.6)},
                   {"RA-3: tasks of a tracker under RAS, mean", "3.4", single(concurrency(ras)), Unit::number, {2.8, 4.0}},
                   {"RA-3: time in which RAS runs fewer tasks than Fair with four slots", "most of it",
                    single(fewer_tasks(ras, fair[3])), Unit::percent, at_least(0.5)}};
  std::vector<double> unpaged;  // proves the reason: what Fair has where memory costs no time
  for (int slots = 1; slots <= 8; ++slots) unpaged.push_back(in_seconds(run_fair(workload, slots, false).makespan));
  const double least = std::ranges::min(unpaged), ras_unpaged = in_seconds(run_ras(workload, 0, nullptr, false).makespan);
  found.figures.push_back({"RA-1: the same, worst over best, where nodes do not page",
                           "none",
                           single(std::ranges::max(unpaged) / least),
                           Unit::number,
                           {}});
  found.figures.push_back({"RA-2: the same, RAS against the best of Fair, where nodes do not page",
                           "none",
                           single(ras_unpaged / least - 1),
                           Unit::change,
                           {}});
  found.charts.push_back(line_chart("ras-makespan.svg", "Makespan of nine jobs", "map slots a tracker", "s", {by_slots, ours}));
  add_utilities(found, utilities, "relaxed", "Utility, relaxed goals");
  return found;
}

double ended(const RunResult& result, std::size_t at) { return in_seconds(*result.jobs[at].ended); }
double late_part(const RunResult& result, std::size_t at) { return in_seconds(*result.jobs[at].lateness()) / kMixedJobs[at].goal; }

/// The first at that time or later.
double utility_at(const Utilities& utilities, const char* name, double time) {
  const auto& points = utilities.at(name);
  const auto at = std::ranges::find_if(points, [time](const auto& point) { return point.x >= time; });
  return at == points.end() ? points.back().y : at->y;
}

double lowest_mean(const Utilities& utilities) {
  std::map<double, double> lowest;  // by cycle
  for (const auto& [name, points] : utilities) {
    for (const auto& point : points) {
      auto [at, added] = lowest.try_emplace(point.x, point.y);
      if (!added) at->second = std::min(at->second, point.y);
    }
  }
  double sum = 0;
  for (const auto& [time, value] : lowest) sum += value;
  return sum / static_cast<double>(lowest.size());
}

Findings tight_goals(const Context&) {
  const Workload workload = gridmix_jobs(false);
  Utilities utilities;
  const RunResult relaxed = run_ras(gridmix_jobs(true), 0), tight = run_ras(workload, 0, &utilities), fair = run_fair(workload, 4);
  const auto met = std::ranges::count_if(tight.jobs, [](const auto& one) { return !one.missed_deadline(); });
  const auto met_by_fair = std::ranges::count_if(fair.jobs, [](const auto& one) { return !one.missed_deadline(); });
  Findings found;
  found.figures = {
      {"RA-4: goals met, of nine", "7", single(static_cast<double>(met)), Unit::number, at_least(7)},
      {"RA-4: the same under Fair with four slots", "none", single(static_cast<double>(met_by_fair)), Unit::number, {}},
      {"RA-4: J1 after its goal, over the goal", "18 s late: 0.6 %", single(late_part(tight, 0)), Unit::change, at_most(0.10)},
      {"RA-4: J2 after its goal, over the goal", "46 s late: 5.4 %", single(late_part(tight, 1)), Unit::change, at_most(0.10)},
      {"RA-4: makespan against Fair with four slots", "−167 s: −3.5 %",
       single(in_seconds(tight.makespan) / in_seconds(fair.makespan) - 1), Unit::change, at_most(0)},
      {"RA-5: J1 ends, against relaxed goals", "3018 after 3113 s", single(ended(tight, 0) / ended(relaxed, 0) - 1), Unit::change,
       at_most(0)},
      {"RA-5: J8 ends, against relaxed goals", "3365 after 3670 s", single(ended(tight, 7) / ended(relaxed, 7) - 1), Unit::change,
       at_most(0)},
      {"RA-5: J7 ends, against relaxed goals", "4614 after 4536 s", single(ended(tight, 6) / ended(relaxed, 6) - 1), Unit::change,
       at_least(0)},
      {"RA-6: utility of J8 when it comes", "negative", single(utility_at(utilities, "J8", 2500)), Unit::number, at_most(-1e-9)},
      {"RA-6: utility of J8 at 3000 s", "balanced again", single(utility_at(utilities, "J8", 3000)), Unit::number, at_least(0)},
      {"RA-6: lowest utility of any job, mean of the cycles", "none", single(lowest_mean(utilities)), Unit::number, {}}};
  add_utilities(found, utilities, "tight", "Utility, tight goals");
  return found;
}

Findings utility_shape(const Context&) {
  const auto utility = [](double slots, double readers) {
    return single(schedulers::map_utility(slots, 20, 35) + schedulers::reduce_utility(readers, 10));
  };
  std::vector<Curve> curves;
  for (const double readers : {10.0, 5.0, 1.0}) {
    Curve curve{fmt::format("{} reduces", readers), {}, false};
    for (double slots = 1; slots <= 35; ++slots) curve.points.push_back({slots, utility(slots, readers).mean});
    curves.push_back(std::move(curve));
  }
  return {{{"20 slots, 10 reduces", "0", utility(20, 10), Unit::number, exactly(0)},
           {"35 slots, 10 reduces", "1", utility(35, 10), Unit::number, exactly(1)},
           {"1 slot, 10 reduces", "−1", utility(1, 10), Unit::number, exactly(-1)},
           {"20 slots, 1 reduce", "−1", utility(20, 1), Unit::number, exactly(-1)}},
          {line_chart("ras-utility.svg", "Utility of a job that needs 20 slots and has 35 tasks", "slots", "utility", curves)}};
}

const char* const kAlone =
    "jobs without goals get equal parts of the cluster, so the one bound by processors, which needs most of it, is left alone at "
    "the end";

/// Each of a job bound by processors, by the disk and by memory on its own, and the three together.
Findings without_being_told(const Context&) {
  struct Bound {
    const char* name;
    Resources use;
  };
  const std::array<Bound, 3> kinds{
      {{"processors", of_tracker(.30, .05, .05)}, {"disk", of_tracker(.05, .22, .05)}, {"memory", of_tracker(.05, .05, .19)}}};
  const auto of_kind = [](const Bound& bound) {
    JobSpec spec = job(Time(0), {stage(2000, seconds(30))}, bound.name);
    spec.hints.map_profile = bound.use;
    return spec;
  };
  Findings found;
  for (std::size_t i = 0; i <= kinds.size(); ++i) {
    std::vector<JobSpec> list;
    for (const Bound& bound : kinds) {
      if (i == kinds.size() || bound.name == kinds[i].name) list.push_back(of_kind(bound));
    }
    const Workload workload = jobs(std::move(list));
    std::vector<double> fair;
    for (int slots = 1; slots <= 8; ++slots) fair.push_back(in_seconds(run_fair(workload, slots).makespan));
    const double ras = in_seconds(run_ras(workload, 2.0 / 3).makespan);
    const auto [best, worst] = std::ranges::minmax_element(fair);
    const std::string what = i < kinds.size() ? fmt::format("bound by {}", kinds[i].name) : "all three";
    found.figures.push_back({fmt::format("{}: against the best of Fair, with {} slots", what, best - fair.begin() + 1), "none",
                             single(ras / *best - 1), Unit::change, at_most(0.05), i < kinds.size() ? "" : kAlone});
    found.figures.push_back({fmt::format("{}: the worst of Fair, with {} slots, over RAS", what, worst - fair.begin() + 1), "none",
                             single(*worst / ras), Unit::number, at_least(1.5)});
  }
  return found;
}

}  // namespace

std::vector<Experiment> resource_aware_experiments() {
  const char* const kSetting =
      "20 trackers on which tasks slow each other down; nine jobs of sorts, combines and selects with the published loads of their "
      "tasks, sizes and submissions; maps of 64 MiB that take as long as the published lengths in isolation say; reduces begin "
      "after 5 % of the maps; heartbeat 1 s, control cycles of 30 s; simulated";
  return {{"RA-1", "RAS: as many tasks on a tracker as fit it", kRasPaper, kSetting, "", relaxed_goals},
          {"RA-4", "RAS: completion-time goals", kRasPaper, kSetting, "", tight_goals},
          {"RA-7", "RAS: the utility function", kRasPaper, "a job that needs 20 slots, with 35 maps and 10 reduces pending", "",
           utility_shape},
          {"RA-8", "RAS finds the number of slots by itself", kRasPaper,
           "20 trackers as before; jobs of 2,000 tasks bound by one resource each; simulated", "", without_being_told}};
}

}  // namespace weft::papers

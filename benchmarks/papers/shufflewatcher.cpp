// ShuffleWatcher: Ahmad, Chakradhar, Raghunathan, Vijaykumar, USENIX ATC 2014. What it gains over the schedulers that it is
// compared with, and where the traffic comes from.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/shufflewatcher_rows.hpp"

namespace weft::papers {
namespace {

const char* const kWatcherPaper = "Ahmad et al., ShuffleWatcher, USENIX ATC 2014";
const char* const kHundredNodes =
    "100 nodes of 2 map and 2 reduce slots in 10 racks, 250 Mbit/s each, uplinks of 500 Mbit/s, slow start 0.05; 360 jobs of 30 "
    "users within four hours (benchmarks/papers/shufflewatcher.toml), of whose blocks 95 % have a replica in the job's home rack; "
    "a user's jobs in the order of their submission";

const char* const kMapsFull =
    "the two map slots of each node (Hadoop's default; the paper does not say) are always taken here, and without delay "
    "scheduling a job's tasks come back to the few slots that it has, so that many read from other racks; with four, one for each "
    "core, and input_scale 0.4 it is 10 % as in the paper, and heavy jobs have 61 %";
const char* const kLoad =
    "the choice between tasks grows with the jobs that a user has at a time: of thirty users with twelve jobs in four hours each "
    "has "
    "two or three; with the same jobs of five users, some two dozen each, what is gained over delay is as published (SW-U)";

// ---- SW-4, SW-5: the gains ---------------------------------------------------------------------------------------------

struct Gains {
  const char* throughput;
  const char* turn_around;
  const char* traffic;
  Band throughput_band, turn_around_band, traffic_band;
};

/// Measures the gains of `better` over `than`.
OfRuns compared(const std::string& better, const std::string& than, const Gains& expected) {
  return [=](const Context& context, MixRuns& runs) -> Findings {
    const auto found = gains(context, runs, usual(context), better, than);
    return {{{"throughput, jobs an hour", expected.throughput, found[0], Unit::change, expected.throughput_band},
             {"turn-around, mean", expected.turn_around, found[1], Unit::change, expected.turn_around_band},
             {"traffic between racks, of a task", expected.traffic, found[2], Unit::change, expected.traffic_band},
             {"tasks finished a second", "", found[3], Unit::change, {}}}};
  };
}

constexpr Gains kAgainstFair{"+39 %", "−27 %", "−36 %", {0.25, 0.5}, {-0.35, -0.18}, {-0.45, -0.28}};
constexpr Gains kAgainstDelay{"+46 %", "−32 %", "−48 %", {0.32, 0.6}, {-0.42, -0.22}, {-0.56, -0.38}};

// ---- SW-1 to SW-3: where the traffic comes from -----------------------------------------------------------------------

Findings traffic_of_fair(const Context& context, MixRuns& runs) {
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const MixRun run = runs.get(usual(context), kFair, seed);
    return std::vector<double>{run.cross_shuffle() / run.shuffle, run.by_class[kHeavy].cross_shuffle / run.cross_bytes(),
                               run.cross_map_read() / run.cross_bytes()};
  });
  return {{{"part of the shuffle that crosses", "about 90 %", found[0], Unit::percent, {0.87, 0.93}},
           {"shuffle of heavy jobs, of all that crosses", "more than 75 %", found[1], Unit::percent, {0.7, 0.85}},
           {"input of maps, of all that crosses", "less than 20 %", found[2], Unit::percent, at_most(0.2)}}};
}

// ---- SW-6: DRF ---------------------------------------------------------------------------------------------------------

Findings around_drf(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const MixRun fair = runs.get(setting, kFair, seed), drf = runs.get(setting, kDrf, seed);
    const MixRun on_fair = runs.get(setting, kWatcher, seed), on_drf = runs.get(setting, kWatcherDrf, seed);
    return std::vector<double>{
        more(on_drf.jobs_per_hour, drf.jobs_per_hour) - more(on_fair.jobs_per_hour, fair.jobs_per_hour),
        more(on_drf.turn_around, drf.turn_around) - more(on_fair.turn_around, fair.turn_around),
        more(on_drf.cross_per_task(), drf.cross_per_task()) - more(on_fair.cross_per_task(), fair.cross_per_task())};
  });
  const Band points{-0.08, 0.08};
  return {{{"gain in throughput, less that of SW-4", "about 0", found[0], Unit::change, points},
           {"gain in turn-around, less that of SW-4", "about 0", found[1], Unit::change, points},
           {"less traffic between racks, less that of SW-4", "about 0", found[2], Unit::change, points}}};
}

// ---- SW-7: job by job --------------------------------------------------------------------------------------------------

Findings job_by_job(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const MixRun fair = runs.get(setting, kFair, seed), watcher = runs.get(setting, kWatcher, seed);
    const std::vector<double> factors = watcher.factors_over(fair);
    return std::vector<double>{watcher.improved_over(fair), factors[factors.size() / 20], factors[factors.size() / 2]};
  });
  const MixRun fair = runs.get(setting, kFair, 1);
  const std::vector<double> factors = runs.get(setting, kWatcher, 1).factors_over(fair);
  Curve curve{"weft", {}, false};
  for (std::size_t i = 0; i < factors.size(); ++i)
    curve.points.push_back({100 * static_cast<double>(i) / static_cast<double>(factors.size()), std::min(factors[i], 10.0)});
  Findings all{{{"jobs whose turn-around is no longer", "all of about 300", found[0], Unit::percent, at_least(0.95)},
                {"times as fast, the slowest twentieth", "", found[1], Unit::number, {}},
                {"times as fast, median", "", found[2], Unit::number, {}}}};
  all.charts.push_back(line_chart("shufflewatcher-jobs.svg", "Turn-around under fair over that under ShuffleWatcher",
                                  "jobs, percent", "times as fast", {curve}));
  return all;
}

// ---- SW-16: traffic in time
// -------------------------------------------------------------------------------------------------------------

Findings traffic_in_time(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const double fair = runs.get(setting, kFair, seed).variation, watcher = runs.get(setting, kWatcher, seed).variation;
    return std::vector<double>{fair, watcher, watcher - fair};
  });
  Findings all{{{"coefficient of variation, fair", "bursty", found[0], Unit::number, {}},
                {"coefficient of variation, ShuffleWatcher", "balanced", found[1], Unit::number, {}},
                {"the second less the first", "less", found[2], Unit::number, at_most(0)}}};
  std::vector<Curve> curves;
  for (const auto& [name, spec] : {std::pair("fair", kFair), std::pair("ShuffleWatcher", kWatcher)}) {
    Curve& curve = curves.emplace_back(Curve{name, {}, false});
    for (const auto& [minute, rate] : runs.get(setting, spec, 1).rate_by_minute) curve.points.push_back({minute, rate});
  }
  all.charts.push_back(
      line_chart("shufflewatcher-traffic.svg", "Traffic between racks", "minutes", "Gbit/s out of all racks", curves));
  return all;
}

}  // namespace

Findings explained(Findings found, const char* reason) {
  for (Figure& figure : found.figures) figure.reason = reason;
  return found;
}

std::vector<Estimate> gains(const Context& context, MixRuns& runs, const MixSetting& setting, const std::string& better,
                            const std::string& than) {
  return context.over_seeds([&](std::uint64_t seed) {
    const MixRun a = runs.get(setting, better, seed), b = runs.get(setting, than, seed);
    return std::vector<double>{more(a.jobs_per_hour, b.jobs_per_hour), more(a.turn_around, b.turn_around),
                               more(a.cross_per_task(), b.cross_per_task()), more(a.throughput, b.throughput), a.improved_over(b)};
  });
}

MixSetting usual(const Context& context) {
  MixSetting setting;
  if (context.quick) setting.jobs = kQuickJobs;
  return setting;
}

Experiment on_hundred_nodes(const std::shared_ptr<MixRuns>& runs, const char* id, const char* title, OfRuns measure,
                            const char* reason) {
  return {id, title, kWatcherPaper, kHundredNodes, fmt::format("{} jobs, one seed", kQuickJobs), [=](const Context& context) {
            return explained(measure(context, *runs), reason);
          }};
}

Experiment long_experiment(const std::shared_ptr<MixRuns>& runs, const char* id, const char* title, OfRuns measure,
                           const char* reason) {
  Experiment made = on_hundred_nodes(runs, id, title, std::move(measure), reason);
  made.quick = "not measured";
  made.measure = [measure = std::move(made.measure)](const Context& context) {
    if (context.whole && !context.quick) return measure(context);
    return Findings{{}, {}, "", "it takes some minutes: --long measures it"};
  };
  return made;
}

std::vector<Experiment> shufflewatcher_experiments() {
  const auto runs = std::make_shared<MixRuns>();
  std::vector<Experiment> all{
      on_hundred_nodes(runs, "SW-1", "Fair: shuffles of heavy jobs are what crosses racks (SW-1, SW-2, SW-3)", traffic_of_fair,
                       kMapsFull),
      on_hundred_nodes(runs, "SW-4", "ShuffleWatcher against fair", compared(kWatcher, kFair, kAgainstFair), kLoad),
      on_hundred_nodes(runs, "SW-5", "With relaxed fairness against delay", compared(kRelaxed, kDelay, kAgainstDelay), kLoad),
      on_hundred_nodes(runs, "SW-6", "Around DRF the gains are about the same", around_drf, kLoad),
      on_hundred_nodes(runs, "SW-7", "No job is slower", job_by_job, kLoad),
      on_hundred_nodes(runs, "SW-16", "Traffic between racks is more even", traffic_in_time, kLoad)};
  for (auto& part : {shufflewatcher_steps(runs), shufflewatcher_sweeps(runs), shufflewatcher_examples()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace weft::papers

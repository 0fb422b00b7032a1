// ShuffleWatcher: Ahmad, Chakradhar, Raghunathan, Vijaykumar, USENIX ATC 2014.
#include "schedulers/policies/shufflewatcher.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"
#include "benchmarks/papers/shuffle_mix.hpp"
#include "schedulers/parts/reduce_racks.hpp"

namespace weft::papers {
namespace {

const char* const kWatcherPaper = "Ahmad et al., ShuffleWatcher, USENIX ATC 2014";
const char* const kHundredNodes =
    "100 nodes of 2 map and 2 reduce slots in 10 racks, 250 Mbit/s each, uplinks of 500 Mbit/s, slow start 0.05; 360 jobs of 30 "
    "users within four hours (benchmarks/papers/shufflewatcher.toml), of whose blocks 95 % have a replica in the job's home rack";

const std::string kFair = "fair", kDelay = "delay(inner=fair)", kDrf = "drf(by=user)";
const std::string kWatcher = "shufflewatcher", kRelaxed = "shufflewatcher(users=delay(inner=fair))";
const std::string kWatcherWaits = "shufflewatcher(relaxed=5s)";
const std::string kWatcherDrf = "shufflewatcher(users=drf)";
const std::string kNassOnly = "shufflewatcher(sarp=false)", kNassSarp = "shufflewatcher(samp=false)";

const char* const kFewJobs =
    "users have about one job at a time here, so there is hardly a choice between tasks, and few large jobs make some racks busier "
    "than others; with more jobs of each user there is (SW-L)";
const char* const kFarMaps =
    "without delay scheduling many maps of a saturated cluster read from other racks: slots come free in few places";

/// The reason stands where a figure misses its band.
Findings explained(Findings found, const char* reason) {
  for (Figure& figure : found.figures) figure.reason = reason;
  return found;
}

/// What one is more than the other, as a part of the other.
double more(double value, double than) { return value / than - 1; }

/// Throughput, turn-around and traffic between racks of one scheduler against another, over seeds.
std::vector<Estimate> gains(const Context& context, MixRuns& runs, const MixSetting& setting, const std::string& better,
                            const std::string& than) {
  return context.over_seeds([&](std::uint64_t seed) {
    const MixRun a = runs.get(setting, better, seed), b = runs.get(setting, than, seed);
    return std::vector<double>{more(a.throughput, b.throughput), more(a.turn_around, b.turn_around),
                               more(a.cross_per_task(), b.cross_per_task()), more(a.jobs_per_hour, b.jobs_per_hour),
                               a.improved_over(b)};
  });
}

std::string cut(std::uint32_t jobs) { return fmt::format("{} jobs, one seed", jobs); }

MixSetting usual(const Context& context) {
  MixSetting setting;
  if (context.quick) setting.jobs = kQuickJobs;
  return setting;
}

struct Gains {
  const char* throughput;
  const char* turn_around;
  const char* traffic;
  Band throughput_band, turn_around_band, traffic_band;
};

Findings compared(const Context& context, MixRuns& runs, const MixSetting& setting, const std::string& better,
                  const std::string& than, const Gains& expected) {
  const auto found = gains(context, runs, setting, better, than);
  return {{{"throughput", expected.throughput, found[0], Unit::change, expected.throughput_band},
           {"turn-around, mean", expected.turn_around, found[1], Unit::change, expected.turn_around_band},
           {"traffic between racks", expected.traffic, found[2], Unit::change, expected.traffic_band},
           {"jobs finished an hour", "", found[3], Unit::change, {}}}};
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
        more(on_drf.throughput, drf.throughput) - more(on_fair.throughput, fair.throughput),
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

// ---- SW-8 to SW-12: step by step ---------------------------------------------------------------------------------------

Findings throughput_by_step(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const double fair = runs.get(setting, kFair, seed).throughput;
    const double nass = more(runs.get(setting, kNassOnly, seed).throughput, fair),
                 sarp = more(runs.get(setting, kNassSarp, seed).throughput, fair),
                 all = more(runs.get(setting, kWatcher, seed).throughput, fair);
    return std::vector<double>{nass, sarp, all, nass / std::max(all, 1e-9)};
  });
  return {{{"throughput, NASS alone", "", found[0], Unit::change, {}},
           {"throughput, with SARP", "more", found[1], Unit::change, {}},
           {"throughput, with SAMP", "+39 %", found[2], Unit::change, {0.25, 0.5}},
           {"part of the gain that is NASS's", "more than 40 %", found[3], Unit::percent, at_least(0.3)}}};
}

Findings traffic_by_step(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const MixRun fair = runs.get(setting, kFair, seed);
    std::vector<double> figures;
    for (const std::string& step : {kNassOnly, kNassSarp, kWatcher}) {
      const MixRun run = runs.get(setting, step, seed);
      for (std::size_t i = 0; i < kMixClasses; ++i)
        figures.push_back(more(run.by_class[i].cross() / run.tasks, fair.by_class[i].cross() / fair.tasks));
      figures.push_back(more(run.cross_per_task(), fair.cross_per_task()));
    }
    const MixRun run = runs.get(setting, kWatcher, seed);
    figures.push_back((run.by_class[kHeavy].cross_map_read / run.tasks - fair.by_class[kHeavy].cross_map_read / fair.tasks) /
                      fair.cross_per_task());
    return figures;
  });
  const auto within = [](double value, double points) { return Band{value - points, value + points}; };
  return {{{"SW-9: NASS alone, all jobs", "no change", found[3], Unit::change, within(0, 0.03)},
           {"SW-10: with SARP, heavy jobs", "−16 %", found[4], Unit::change, within(-0.16, 0.06)},
           {"SW-10: with SARP, medium jobs", "−13 %", found[5], Unit::change, within(-0.13, 0.06)},
           {"SW-10: with SARP, light jobs", "−4 %", found[6], Unit::change, within(-0.04, 0.06)},
           {"SW-10: with SARP, all jobs", "−15 %", found[7], Unit::change, within(-0.15, 0.06)},
           {"SW-11: with SAMP, heavy jobs", "−38 %", found[8], Unit::change, within(-0.38, 0.08)},
           {"SW-11: with SAMP, medium jobs", "−23 %", found[9], Unit::change, within(-0.23, 0.08)},
           {"SW-11: with SAMP, light jobs", "−4 %", found[10], Unit::change, within(-0.04, 0.08)},
           {"SW-11: with SAMP, all jobs", "−36 %", found[11], Unit::change, within(-0.36, 0.08)},
           {"SW-12: more input of heavy jobs' maps, of all that crosses", "+3 %", found[12], Unit::change, at_most(0.08)}}};
}

// ---- SW-13, SW-14, SW-15 -----------------------------------------------------------------------------------------------

Findings by_jobs_per_user(const Context& context, MixRuns& runs) {
  Findings all;
  for (const std::uint32_t each : {1u, 9u, 12u, 18u}) {
    MixSetting setting = usual(context);
    setting.users = 360 / each;
    const auto found = gains(context, runs, setting, kWatcher, kFair);
    all.figures.push_back({fmt::format("throughput, {} jobs of each user", each), "more", found[0], Unit::change, at_least(0)});
  }
  return all;
}

Findings by_mix(const Context& context, MixRuns& runs) {
  struct Mix {
    const char* name;
    std::array<double, kMixClasses> parts;  // heavy, medium, light
    const char* published;
    double gain;
  };
  Findings all;
  std::vector<double> means;
  for (const Mix& mix : {Mix{"20 % light, 60 % heavy", {0.6, 0.2, 0.2}, "+31 %", 0.31},
                         Mix{"40 % light, 40 % heavy", {0.4, 0.2, 0.4}, "+39 %", 0.39},
                         Mix{"60 % light, 20 % heavy", {0.2, 0.2, 0.6}, "+22 %", 0.22}}) {
    MixSetting setting = usual(context);
    setting.parts = mix.parts;
    const auto found = gains(context, runs, setting, kWatcher, kFair);
    means.push_back(found[0].mean);
    all.figures.push_back(
        {fmt::format("throughput, {}", mix.name), mix.published, found[0], Unit::change, {mix.gain - 0.1, mix.gain + 0.1}});
  }
  all.figures.push_back({"the middle less the better of the others", "+8 points", single(means[1] - std::max(means[0], means[2])),
                         Unit::change, at_least(0)});
  return all;
}

MixSetting sixteen_nodes(const Context& context) {
  MixSetting setting;
  setting.nodes = 16;
  setting.racks = 4;
  setting.users = 5;
  setting.jobs = context.quick ? 30 : 60;
  setting.gap = seconds(240);
  return setting;
}

// ---- SW-16 -------------------------------------------------------------------------------------------------------------

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

// ---- SW-17, SW-18: the examples ----------------------------------------------------------------------------------------

/// Of 100 GB on two racks, what reduces in these numbers fetch from the other one.
double crossing(const std::vector<double>& held, const std::vector<std::uint32_t>& reduces) {
  const double all = reduces[0] + reduces[1];
  return 100 * (held[0] * reduces[1] + held[1] * reduces[0]) / all;
}

Findings ninety_and_ten(const Context&) {
  const std::vector<double> held{0.9, 0.1};
  const double even = crossing(held, {50, 50}), sarp = crossing(held, schedulers::largest_remainders(100, held));
  return {{{"GB that cross, reduces evenly on both racks", "50", single(even), Unit::number, exactly(50)},
           {"GB that cross, SARP", "18", single(sarp), Unit::number, exactly(18)},
           {"less", "−64 %", single(more(sarp, even)), Unit::change, exactly(-0.64)}}};
}

/// Two jobs whose blocks all lie in both racks, one after the other.
RunResult two_jobs(const std::string& scheduler) {
  Workload workload;
  for (int i = 0; i < 2; ++i) {
    StageSpec maps = stage(4, seconds(10));
    maps.input_bytes = maps.shuffle_bytes = 4ull << 26;
    for (std::uint32_t task = 0; task < 4; ++task)
      maps.hosts.push_back({fmt::format("node-{}", task), fmt::format("node-{}", 4 + task)});
    JobSpec spec = job(milliseconds(i), {maps, stage(4, seconds(10), {0})}, "user");
    spec.hints.shuffle_ratio = 1;
    workload.jobs.push_back(spec);
  }
  ClusterModel model = cluster(8, 1, 2);
  model.step = seconds(1);
  model.network.flows = true;
  model.network.nic = 31.25e6;
  model.network.uplink = 25e6;
  return run(workload, model, scheduler);
}

Findings two_racks(const Context&) {
  const auto crossed = [](const RunResult& result, simulator::TrafficKind kind) {
    return result.traffic[static_cast<std::size_t>(kind)].cross_rack / 1e6;
  };
  const RunResult watcher = two_jobs(kWatcher);
  return {{{"MB of shuffle that cross", "0", single(crossed(watcher, simulator::TrafficKind::shuffle)), Unit::number, exactly(0)},
           {"MB of input that cross", "0", single(crossed(watcher, simulator::TrafficKind::map_read)), Unit::number, exactly(0)}}};
}

// ---- SW-L: more jobs of each user ---------------------------------------------------------------------------------------

Findings by_load(const Context& context, MixRuns& runs) {
  Findings all;
  for (const double scale : {0.4, 0.7, 1.0}) {
    MixSetting setting = usual(context);
    setting.scale = scale;
    const auto found = context.over_seeds([&](std::uint64_t seed) {
      const MixRun fair = runs.get(setting, kFair, seed), delay = runs.get(setting, kDelay, seed);
      const MixRun strict = runs.get(setting, kWatcher, seed), waits = runs.get(setting, kWatcherWaits, seed),
                   relaxed = runs.get(setting, kRelaxed, seed);
      return std::vector<double>{fair.turn_around / in_seconds(setting.gap) / setting.users,
                                 more(strict.cross_per_task(), fair.cross_per_task()),
                                 more(strict.jobs_per_hour, fair.jobs_per_hour),
                                 more(waits.cross_per_task(), fair.cross_per_task()),
                                 more(waits.jobs_per_hour, fair.jobs_per_hour),
                                 more(waits.throughput, fair.throughput),
                                 more(relaxed.cross_per_task(), delay.cross_per_task()),
                                 more(relaxed.jobs_per_hour, delay.jobs_per_hour)};
    });
    const auto row = [&](const char* what, std::size_t at, Unit unit) {
      all.figures.push_back({fmt::format("input_scale {}: {}", scale, what), "", found[at], unit, {}});
    };
    row("jobs of a user at a time, fair", 0, Unit::number);
    row("traffic between racks", 1, Unit::change);
    row("jobs finished an hour", 2, Unit::change);
    row("traffic between racks, relaxed=5s", 3, Unit::change);
    row("jobs finished an hour, relaxed=5s", 4, Unit::change);
    row("throughput, relaxed=5s", 5, Unit::change);
    row("traffic between racks, around delay against delay", 6, Unit::change);
    row("jobs finished an hour, around delay against delay", 7, Unit::change);
  }
  return all;
}

// ---- SW-C, SW-D: the calibration and the placement of inputs ------------------------------------------------------------

Findings calibration(const Context& context, MixRuns& runs) {
  Findings all;
  for (const double scale : {0.2, 0.3, 0.4, 0.5, 0.7}) {
    MixSetting setting = usual(context);
    setting.scale = scale;
    const auto found = context.over_seeds([&](std::uint64_t seed) {
      const MixRun run = runs.get(setting, kDelay, seed);
      return std::vector<double>{run.uplinks_used, run.done_in_time, run.throughput};
    });
    all.figures.push_back({fmt::format("input_scale {}: uplinks in use under delay", scale), "", found[0], Unit::percent, {}});
    all.figures.push_back(
        {fmt::format("input_scale {}: part of all work that is done in time", scale), "", found[1], Unit::percent, {}});
    all.figures.push_back({fmt::format("input_scale {}: tasks a second", scale), "", found[2], Unit::number, {}});
  }
  return all;
}

Findings by_concentration(const Context& context, MixRuns& runs) {
  Findings all;
  Curve traffic{"traffic between racks", {}, false}, throughput{"throughput", {}, false}, turn_around{"turn-around", {}, false};
  for (const double part : {0.3, 0.5, 0.7, 0.9, 0.95, 1.0}) {
    MixSetting setting = usual(context);
    setting.concentration = part;
    const auto found = gains(context, runs, setting, kWatcher, kFair);
    all.figures.push_back({fmt::format("traffic between racks, {:.0f} % at home", 100 * part), "", found[2], Unit::change, {}});
    all.figures.push_back({fmt::format("throughput, {:.0f} % at home", 100 * part), "", found[0], Unit::change, {}});
    traffic.points.push_back({part, 100 * found[2].mean});
    throughput.points.push_back({part, 100 * found[0].mean});
    turn_around.points.push_back({part, 100 * found[1].mean});
  }
  all.charts.push_back(line_chart("shufflewatcher-placement.svg", "Against fair, by where inputs lie",
                                  "part of a job's blocks with a replica in its home rack", "change, percent",
                                  {traffic, throughput, turn_around}));
  return all;
}

}  // namespace

std::vector<Experiment> shufflewatcher_experiments() {
  const auto runs = std::make_shared<MixRuns>();
  const auto with = [runs](auto measure, const char* reason = kFewJobs) {
    return [=](const Context& context) { return explained(measure(context, *runs), reason); };
  };
  const auto against = [runs](const std::string& better, const std::string& than, const Gains& gains, auto setting) {
    return [=](const Context& context) {
      return explained(compared(context, *runs, setting(context), better, than, gains), kFewJobs);
    };
  };
  const std::string quick = cut(kQuickJobs);
  const auto experiment = [&](const char* id, const char* title, std::function<Findings(const Context&)> measure) {
    return Experiment{id, title, kWatcherPaper, kHundredNodes, quick, std::move(measure)};
  };
  return {
      experiment("SW-1", "Fair: shuffles of heavy jobs are what crosses racks (SW-1, SW-2, SW-3)", with(traffic_of_fair, kFarMaps)),
      experiment("SW-4", "ShuffleWatcher against fair", against(kWatcher, kFair, kAgainstFair, usual)),
      experiment("SW-5", "With relaxed fairness against delay", against(kRelaxed, kDelay, kAgainstDelay, usual)),
      experiment("SW-6", "Around DRF the gains are about the same", with(around_drf)),
      experiment("SW-7", "No job is slower", with(job_by_job)),
      experiment("SW-8", "Each technique adds to the throughput", with(throughput_by_step)),
      experiment("SW-9", "Less traffic by technique and kind of job (SW-9 to SW-12)", with(traffic_by_step)),
      experiment("SW-13", "Any number of jobs of each user", with(by_jobs_per_user)),
      experiment("SW-14", "Any mix of jobs, most in the middle", with(by_mix)),
      {"SW-15", "16 nodes of its own: against fair", kWatcherPaper,
       "16 nodes in 4 racks, else as SW-4; 60 jobs of 5 users, 240 s apart; a second line of figures is against delay",
       "not measured",
       [runs](const Context& context) {
         if (context.quick) return Findings{{}, {}, "", "so few jobs on so few nodes say nothing"};
         const Gains fair{"+46 %", "−32 %", "−48 %", {0.32, 0.6}, {-0.42, -0.22}, {-0.56, -0.38}},
             delay{"+54 %", "−38 %", "−56 %", {0.32, 0.6}, {-0.42, -0.22}, {-0.56, -0.38}};
         Findings all = compared(context, *runs, sixteen_nodes(context), kWatcher, kFair, fair);
         for (Figure& figure : compared(context, *runs, sixteen_nodes(context), kRelaxed, kDelay, delay).figures) {
           figure.what += ", relaxed against delay";
           all.figures.push_back(std::move(figure));
         }
         return all;
       }},
      experiment("SW-16", "Traffic between racks is more even", with(traffic_in_time)),
      {"SW-17", "The example of SARP: 100 GB, nine tenths of it in one of two racks", kWatcherPaper, "100 reduces on two racks", "",
       ninety_and_ten},
      {"SW-18", "The example of SAMP: two jobs, both on the same two racks", kWatcherPaper,
       "2 racks of 4 nodes with a slot each; each job has four maps, of blocks that lie in both racks, and four reduces", "",
       two_racks},
      experiment("SW-C", "The one factor of all sizes: where delay is just saturated", with(calibration)),
      experiment("SW-L", "How much depends on how many jobs users have", with(by_load)),
      experiment("SW-D", "How much depends on where inputs lie", with(by_concentration))};
}

}  // namespace weft::papers

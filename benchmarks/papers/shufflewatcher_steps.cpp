// ShuffleWatcher step by step: what NASS, SARP and SAMP each add, by number of jobs of a user and by mix of jobs, and on a smaller
// cluster.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/papers/shufflewatcher_rows.hpp"

namespace weft::papers {
namespace {

const char* const kStepsMiss =
    "as SW-4; all slots for maps are taken here, so that a part of the gain is shorter reading, not less shuffling";

// ---- SW-8 to SW-12: step by step ---------------------------------------------------------------------------------------

Findings throughput_by_step(const Context& context, MixRuns& runs) {
  const MixSetting setting = usual(context);
  const auto found = context.over_seeds([&](std::uint64_t seed) {
    const double fair = runs.get(setting, kFair, seed).jobs_per_hour;
    const double nass = more(runs.get(setting, kNassOnly, seed).jobs_per_hour, fair),
                 sarp = more(runs.get(setting, kNassSarp, seed).jobs_per_hour, fair),
                 all = more(runs.get(setting, kWatcher, seed).jobs_per_hour, fair);
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

// ---- SW-15: 16 nodes ---------------------------------------------------------------------------------------------------

Findings on_sixteen_nodes(const Context& context, MixRuns& runs) {
  MixSetting setting = usual(context);
  setting.nodes = 16;
  setting.racks = 4;
  setting.users = 5;
  setting.jobs = 60;
  setting.gap = seconds(240);
  struct Line {
    const char* against;
    const std::string &better, &than;
    const char *throughput, *turn_around, *traffic;
  };
  Findings all;
  for (const Line& line : {Line{"fair", kWatcher, kFair, "+46 %", "−32 %", "−48 %"},
                           Line{"delay, relaxed", kRelaxed, kDelay, "+54 %", "−38 %", "−56 %"}}) {
    const auto found = gains(context, runs, setting, line.better, line.than);
    const auto add = [&](const char* what, const char* published, std::size_t at, Band band) {
      all.figures.push_back({fmt::format("{}, against {}", what, line.against), published, found[at], Unit::change, band});
    };
    add("throughput, jobs an hour", line.throughput, 0, {0.32, 0.6});
    add("turn-around, mean", line.turn_around, 1, {-0.42, -0.22});
    add("traffic between racks, of a task", line.traffic, 2, {-0.56, -0.38});
  }
  return all;
}

}  // namespace

std::vector<Experiment> shufflewatcher_steps(const std::shared_ptr<MixRuns>& runs) {
  std::vector<Experiment> all{
      on_hundred_nodes(runs, "SW-8", "Each technique adds to the throughput", throughput_by_step, kStepsMiss),
      on_hundred_nodes(runs, "SW-9", "Less traffic by technique and kind of job (SW-9 to SW-12)", traffic_by_step, kStepsMiss),
      long_experiment(runs, "SW-13", "Any number of jobs of each user", by_jobs_per_user, kStepsMiss),
      long_experiment(runs, "SW-14", "Any mix of jobs, most in the middle", by_mix, kStepsMiss),
      long_experiment(runs, "SW-15", "16 nodes of its own", on_sixteen_nodes, kStepsMiss)};
  all.back().setting = "16 nodes in 4 racks, 60 jobs of 5 users, 240 s apart, else as SW-4";
  return all;
}

}  // namespace weft::papers

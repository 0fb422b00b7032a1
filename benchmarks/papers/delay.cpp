// Delay scheduling: Zaharia et al., EuroSys 2010.
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"

namespace weft::papers {
namespace {

const char* const kPaper = "Zaharia et al., Delay Scheduling, EuroSys 2010";

// ---- BS-5 -------------------------------------------------------------------------------------------------------------

/// How many jobs of a hundred have so many maps (the paper's table; its two largest kinds are left out for half the cluster).
struct Kind {
  std::uint32_t maps;
  int jobs;
};
constexpr std::array<Kind, 7> kKinds{{{1, 38}, {2, 16}, {10, 14}, {50, 8}, {100, 6}, {200, 6}, {400, 4}}};

/// Jobs that scan their input, in random order.
Workload scans(std::uint64_t seed, std::size_t count, double mean_gap) {
  Random random(seed, 8);
  std::vector<std::uint32_t> maps;
  while (maps.size() < count) {
    std::vector<std::uint32_t> all;
    for (const Kind& kind : kKinds) all.insert(all.end(), static_cast<std::size_t>(kind.jobs), kind.maps);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
    maps.insert(maps.end(), all.begin(), all.end());
  }
  maps.resize(count);
  Workload workload;
  double arrival = 0;
  for (const std::uint32_t tasks : maps) {
    arrival -= mean_gap * std::log(1 - random.uniform());
    StageSpec scan = stage(tasks, milliseconds(500));
    scan.input_bytes = std::uint64_t{tasks} * (64 << 20);
    workload.jobs.push_back(job(milliseconds(static_cast<std::int64_t>(arrival * 1000)), {scan}));
  }
  return workload;
}

double locality(const RunResult& result) {
  return static_cast<double>(result.locality.node) / static_cast<double>(result.locality.all());
}

Findings scans_compared(const Context& context) {
  const std::size_t count = context.quick ? 92 : 276;
  const auto estimates = context.over_seeds([&](std::uint64_t seed) {
    const Workload workload = scans(seed, count, 0.25);
    ClusterModel model = hadoop(50, 5, 4, 20, seed);
    const auto small = [&](std::size_t at) { return workload.jobs[at].stages[0].tasks <= 2; };
    model.network.disk_read = 320e6;  // four disks
    const RunResult fair = run(workload, model, "fair"),
                    five = run(workload, model, "delay(inner=fair, node_wait=5s, rack_wait=5s)"),
                    fifteen = run(workload, model, "delay(inner=fair, node_wait=15s, rack_wait=15s)");
    return std::vector<double>{locality(fair), locality(five), locality(fifteen),
                               in_seconds(fair.makespan) / in_seconds(five.makespan),
                               mean_completion(fair, small) / mean_completion(five, small)};
  });
  return {{{"maps on their data, fair alone", "low", estimates[0], Unit::percent, at_most(0.8)},
           {"maps on their data, waits of 5 s", "nearly 100 %", estimates[1], Unit::percent, at_least(0.95)},
           {"maps on their data, waits of 15 s", "nearly 100 %", estimates[2], Unit::percent, at_least(0.95)},
           {"throughput, delay over fair, 5 s", "up to 2", estimates[3], Unit::number, {1.3, 2.3}},
           {"jobs of one and two maps, how much faster, 5 s", "up to 5", estimates[4], Unit::number, {2, 6}}}};
}

// ---- BS-6 -------------------------------------------------------------------------------------------------------------

constexpr std::uint32_t kNodes = 10, kHolding = 3;

/// The part of jobs of one map that run away from its three replicas. Slots come free in random order: other tasks have
/// exponential lengths.
double remote_part(std::uint32_t skips, std::uint64_t seed, std::uint32_t count) {
  Random random(seed, skips);
  StageSpec others = stage(2 * kNodes * count, Time(0));
  for (std::uint32_t i = 0; i < others.tasks; ++i)
    others.durations.push_back(milliseconds(static_cast<std::int64_t>(-5000 * std::log(1 - random.uniform()))));
  Workload workload = jobs({job(Time(0), {others})});
  for (std::uint32_t i = 1; i <= count; ++i) {
    StageSpec one = stage(1, milliseconds(1));
    one.input_bytes = 1;
    JobSpec probe = job(seconds(8 * i), {one});
    probe.options.priority = 1;
    workload.jobs.push_back(probe);
  }
  ClusterModel model = cluster(kNodes, 1);
  model.seed = seed;
  const RunResult result = run(workload, model, fmt::format("delay(inner=fifo, skips={})", skips));
  return 1 - static_cast<double>(result.locality.node) / static_cast<double>(result.locality.all());
}

Findings power_law(const Context& context) {
  const std::uint32_t count = context.quick ? 400 : 1500;
  Findings found;
  Curve law{"(1 − p)^D", {}, true}, ours{"weft", {}, false};
  for (std::uint32_t offers = 1; offers <= 8; ++offers) {
    const double expected = std::pow(1 - static_cast<double>(kHolding) / kNodes, offers);
    const auto estimate =
        context.over_seeds([&](std::uint64_t seed) { return std::vector<double>{remote_part(offers - 1, seed, count)}; })[0];
    law.points.push_back({static_cast<double>(offers), expected});
    ours.points.push_back({static_cast<double>(offers), estimate.mean});
    if (offers % 2 == 0) continue;  // rows for some, the curve for all
    const double runs = count * static_cast<double>(estimate.runs);
    const double width = 4 * std::sqrt(expected * (1 - expected) / runs);
    found.figures.push_back({fmt::format("maps away from their data, D = {}", offers),
                             fmt::format("{:.1f} %", 100 * expected),
                             estimate,
                             Unit::percent,
                             {expected - width, expected + width}});
  }
  found.charts.push_back(
      line_chart("delay-power-law.svg", "Maps away from their data", "offers D until any is taken", "part", {law, ours}));
  return found;
}

}  // namespace

std::vector<Experiment> delay_experiments() {
  return {
      {"BS-5", "Delay scheduling: locality, throughput, small jobs", kPaper,
       "50 nodes of 4 map slots and 4 disks in 5 racks, 1 Gbit/s, uplinks oversubscribed 20:1, heartbeat 1 s; 276 jobs that scan 1 "
       "to 400 blocks of 64 MiB in the paper's mix, as fast as the cluster can at best",
       "92 jobs, one seed", scans_compared},
      {"BS-6", "Delay scheduling: a map runs away from its data with probability (1 − p)^D", kPaper,
       "10 nodes, 3 with the data (p = 0.3), slots that come free at random; D counts the offers up to the one that is taken "
       "anyway; bands are four standard deviations",
       "400 jobs for each D instead of 1,500, one seed", power_law}};
}

}  // namespace weft::papers

// Carbyne itself: its example, what altruism gains each job, and what it gains with more load, wrong estimates, less altruism and
// other packers. Grandl et al., OSDI 2016.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/papers/carbyne_runs.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"

namespace weft::papers {
namespace {

const std::string kQueries = "queries_tpcds_new.txt";
const std::string kFacebookArrivals = "queries_tpcds_FB_distr_new.txt";

// ---- CB-1 ---------------------------------------------------------------------------------------------------------------

/// Figure 2: capacity 1; the third stage of the first job begins when both others have ended.
Workload example_jobs() {
  const auto made = [](std::uint32_t tasks, double amount, Time duration, std::vector<std::uint32_t> parents = {}) {
    StageSpec spec = stage(tasks, duration, std::move(parents));
    spec.demand.cpu = amount;
    return spec;
  };
  return jobs({job(Time(0), {made(2, 0.04, seconds(1)), made(3, 0.21, seconds(1)), made(1, 0.04, milliseconds(100), {0, 1})}),
               job(Time(0), {made(2, 0.29, seconds(1))})});
}

Findings example(const Context&) {
  ClusterModel model = cluster(1, 1);
  model.step = milliseconds(100);  // both jobs are there when the scheduler is asked first
  const auto mean = [&](const char* scheduler) { return single(mean_completion(run(example_jobs(), model, scheduler))); };
  double begins = 0;
  RunOptions options;
  options.on_command = [&](Time now, const master::Command& command) {
    const auto* launch = std::get_if<master::LaunchTask>(&command);
    if (launch == nullptr || now > Time(0)) return;
    begins += launch->attempt.task.job.value() == 1 ? (launch->attempt.task.stage.value() == 1 ? 0.21 : 0.04) : 0.29;
  };
  run(example_jobs(), model, "carbyne(leftover=[])", options);
  return {{{"mean completion, strict shares", "2.05", mean("drf(form=closed, mean=all, strict=true)"), Unit::number, exactly(2.05)},
           {"mean completion, Carbyne", "1.55", mean("carbyne"), Unit::number, exactly(1.55)},
           {"the same, plans that are kept", "1.55", mean("carbyne(mode=safe)"), Unit::number, exactly(1.55)},
           {"what is lent at first", "0.50", single(1 - begins), Unit::number, exactly(0.5)}}};
}

// ---- factors ------------------------------------------------------------------------------------------------------------

std::uint32_t query_count(const Context& context) { return context.quick ? 80 : 250; }

/// Of one seed: factors of improvement of each scheduler over the first.
std::vector<std::vector<double>> drawn_factors(const Context& context, const std::string& path, std::uint32_t machines,
                                               std::uint64_t seed, const std::vector<std::string>& schedulers) {
  const ClusterModel model = carbyne_machines(machines, seed);
  const Workload workload = drawn_queries(path, query_count(context), true, model);
  const RunResult base = run(workload, model, schedulers.front());
  std::vector<std::vector<double>> all;
  for (std::size_t i = 1; i < schedulers.size(); ++i) all.push_back(factors(base, run(workload, model, schedulers[i])));
  return all;
}

const char* const kIdle =
    "one query every 20 s leaves half of the cluster idle, since the public queries are shorter than those of the paper: the "
    "figures "
    "with fewer machines are of a cluster that is full";

/// CB-6: completion times against strict shares, for three benchmarks.
Findings benchmarks_online(const Context& context) {
  Findings found;
  struct Benchmark {
    const char* name;
    const char* file;
    const char* mean;
    const char* high;
  };
  const std::uint32_t full = context.quick ? 13 : 40;
  for (const auto& [name, file, mean, high] :
       {Benchmark{"TPC-DS", "queries_tpcds_new.txt", "1.36", "1.88"}, Benchmark{"TPC-H", "queries_tpch.txt", "similar", "1.96"},
        Benchmark{"BigBench", "queries_bb.txt", "similar", "similar"}}) {
    const auto path = context.trace(file);
    if (!path) return no_carbyne_file(file);
    for (const std::uint32_t machines : {context.quick ? 32u : 100u, full}) {
      const auto e = context.over_seeds([&](std::uint64_t seed) {
        const auto all = drawn_factors(context, *path, machines, seed, {kStrictDrf, "carbyne"}).front();
        return std::vector<double>{mean_of(all), at_part(all, 0.95), part_below(all, 0.999), part_below(all, 0.8), all.front()};
      });
      const std::string what = fmt::format("{} on {} machines: ", name, machines);
      const bool judged = machines != full;
      found.figures.push_back(
          {what + "mean factor over strict DRF", mean, e[0], Unit::number, judged ? Band{1.2, 1.6} : Band{}, kIdle});
      found.figures.push_back({what + "the factor of 95 %", high, e[1], Unit::number, {}});
      if (std::string(name) != "TPC-DS") continue;
      found.figures.push_back({what + "jobs that are slower (CB-7)", "16 %", e[2], Unit::percent, at_most(0.25), kIdle});
      found.figures.push_back({what + "jobs below 0.8 (CB-7)", "4 %", e[3], Unit::percent, at_most(0.08), kIdle});
      found.figures.push_back({what + "the least factor (CB-7)", "0.62", e[4], Unit::number, {}});
    }
  }
  return found;
}

/// CB-8, CB-9: the authors' files on one machine, with Facebook's arrivals.
Findings simulated_benchmarks(const Context& context) {
  Findings found;
  for (const auto& [name, file, units] :
       {std::tuple{"TPC-DS", "queries_tpcds_FB_distr_new.txt", 100.0}, std::tuple{"TPC-H", "queries_tpch_FB_distr.txt", 100.0},
        std::tuple{"BigBench", "queries_bb_FB_distr.txt", 100.0}, std::tuple{"Facebook's jobs (CB-9)", "400Jobs.txt", 400.0}}) {
    const auto path = context.trace(file);
    if (!path) return no_carbyne_file(file);
    const Workload workload = first_jobs(*path, context.quick ? 50 : 399, 1);
    const ClusterModel model = ClusterModel::one_machine(units);
    const auto all = factors(run(workload, model, kStrictDrf), run(workload, model, "carbyne"));
    const bool facebook = units > 100;
    found.figures.push_back({fmt::format("{}: mean factor over strict DRF", name), facebook ? "up to 2.85" : "up to 1.59",
                             single(mean_of(all)), Unit::number, facebook ? at_least(1) : Band{1.3, 1.8},
                             "of 399 jobs that come within 22 minutes three hundred wait at a time: shortest first gains more than "
                             "with the paper's load"});
    found.figures.push_back({fmt::format("{}: the factor of 95 %", name),
                             facebook ? "up to 8.88" : "up to 7.67",
                             single(at_part(all, 0.95)),
                             Unit::number,
                             {}});
  }
  return found;
}

// ---- sensitivity --------------------------------------------------------------------------------------------------------

/// CB-10: the same queries on fewer machines.
Findings load(const Context& context) {
  const auto path = context.trace(kQueries);
  if (!path) return no_carbyne_file(kQueries);
  const std::vector<std::uint32_t> machines =
      context.quick ? std::vector<std::uint32_t>{32, 16, 8, 5} : std::vector<std::uint32_t>{100, 50, 25, 17};
  const std::vector<std::string> loads{"1", "2", "4", "6"};
  const std::vector<std::string> published_as{"up to 1.57", "1.76 to 1.91", "more", "as at 4"};
  Findings found;
  Curve theirs{"published", {}, true}, ours{"measured", {}, false};
  std::vector<double> means;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const auto e = context.over_seeds([&](std::uint64_t seed) {
      return std::vector<double>{mean_of(drawn_factors(context, *path, machines[i], seed, {kStrictDrf, "carbyne"}).front())};
    });
    means.push_back(e[0].mean);
    ours.points.push_back({std::stod(loads[i]), e[0].mean});
    found.figures.push_back({"mean factor over strict DRF at load " + loads[i], published_as[i], e[0], Unit::number, {}});
  }
  found.figures.push_back(
      {"factor at load 4 over that at load 1", "more than 1", single(means[2] / means[0]), Unit::number, at_least(1)});
  found.figures.push_back({"factor at load 6 over that at load 4",
                           "about 1",
                           single(means[3] / means[2]),
                           Unit::number,
                           {0.85, 1.15},
                           "so many queries wait at a time that a share is less than two cores: there is hardly anything to lend"});
  for (const auto& row : published("carbyne_load.csv")) theirs.points.push_back({row[0], row[1]});
  found.charts.push_back(
      line_chart("carbyne-load.svg", "Mean factor of improvement over DRF", "load (multiples)", "factor", {theirs, ours}));
  return found;
}

/// CB-11: what schedulers are told of durations is wrong by so much.
Findings estimates(const Context& context) {
  const auto path = context.trace(kFacebookArrivals);
  if (!path) return no_carbyne_file(kFacebookArrivals);
  const Workload workload = first_jobs(*path, 50, 1);
  Findings found;
  for (const int percent : {-50, -25, 0, 25, 50}) {
    const auto e = context.over_seeds([&](std::uint64_t seed) {
      ClusterModel model = ClusterModel::one_machine(100);
      model.seed = seed;
      model.estimates.duration_bias = percent / 100.0;
      if (percent != 0) model.estimates.duration_spread = 0.1;
      return std::vector<double>{mean_of(factors(run(workload, model, kStrictDrf), run(workload, model, "carbyne")))};
    });
    found.figures.push_back(
        {fmt::format("mean factor over strict DRF, durations {:+} %", percent), "at least 1", e[0], Unit::number, at_least(1)});
  }
  return found;
}

/// CB-12: jobs are altruistic with this probability.
Findings less_altruism(const Context& context) {
  const auto path = context.trace(kFacebookArrivals);
  if (!path) return no_carbyne_file(kFacebookArrivals);
  const Workload workload = first_jobs(*path, 50, 1);
  const ClusterModel model = ClusterModel::one_machine(100);
  const RunResult strict = run(workload, model, kStrictDrf);
  Findings found;
  Curve theirs{"published", {}, true}, ours{"measured", {}, false};
  const std::string tossed =
      "coins are tossed with each call, once a second here: a job that yields in one call uses its share in the next, so that one "
      "that is altruistic half of the time lends next to nothing";
  double before = 0;
  for (const auto& row : published("carbyne_altruism.csv")) {
    const auto e = context.over_seeds([&](std::uint64_t seed) {
      return std::vector<double>{
          mean_of(factors(strict, run(workload, model, fmt::format("carbyne(altruism={}, seed={})", row[0], seed))))};
    });
    theirs.points.push_back({row[0], row[1]});
    ours.points.push_back({row[0], e[0].mean});
    found.figures.push_back({fmt::format("mean factor over strict DRF, P = {}", row[0]), fmt::format("{}", row[1]), e[0],
                             Unit::number, at_least(before), tossed});
    before = e[0].mean;
  }
  found.remark =
      "With P = 0 each job uses its share as with DRF, but what shares leave still goes to the shortest job: that alone is the "
      "factor at 0.";
  found.charts.push_back(line_chart("carbyne-altruism.svg", "Mean factor of improvement over DRF", "probability of altruism",
                                    "factor", {theirs, ours}));
  return found;
}

/// CB-13, CB-14: another packer inside jobs, and Tetris that is strictly fair.
Findings other_packers(const Context& context) {
  const auto path = context.trace(kFacebookArrivals);
  if (!path) return no_carbyne_file(kFacebookArrivals);
  const Workload workload = first_jobs(*path, context.quick ? 50 : 399, 1);
  const ClusterModel model = ClusterModel::one_machine(100);
  const RunResult strict = run(workload, model, kStrictDrf), carbyne = run(workload, model, "carbyne"),
                  dagps = run(workload, model, "carbyne(intra=dagps)"), fair = run(workload, model, "tetris(fairness=0.999)");
  const auto better = factors(carbyne, dagps), of_fair = factors(fair, carbyne);
  const std::string greedy =
      "packing is not what limits these queries on one machine: both packers end nearly all at the same time";
  return {{{"CB-13: jobs at least as fast with dagps as with packing", "50 %", single(1 - part_below(better, 1)), Unit::percent,
            at_least(0.5), greedy},
           {"CB-13: factor of 75 % over strict DRF, packing",
            "2.36",
            single(at_part(factors(strict, carbyne), 0.75)),
            Unit::number,
            {}},
           {"CB-13: the same, dagps", "3.41", single(at_part(factors(strict, dagps), 0.75)), Unit::number, {}},
           {"CB-14: Jain index of fair shares, Carbyne", "0.89", single(carbyne.fairness.mean_fair_shares), Unit::number, {}},
           {"CB-14: the same, Tetris with fairness 1", "0.84", single(fair.fairness.mean_fair_shares), Unit::number, {}},
           {"CB-14: mean factor over Tetris with fairness 1", "1.22", single(mean_of(of_fair)), Unit::number, at_least(1.22)},
           {"CB-14: the factor of 95 %", "2.9", single(at_part(of_fair, 0.95)), Unit::number, {}},
           {"CB-14: makespan, Tetris with fairness 1 over Carbyne", "1.06",
            single(in_seconds(fair.makespan) / in_seconds(carbyne.makespan)), Unit::number, at_least(1),
            "one machine has no fragmentation that packing could win back"}}};
}

/// CB-15: a query alone in its share, of which it launches only what must begin.
Findings leftovers(const Context& context) {
  const auto path = context.trace(kQueries);
  if (!path) return no_carbyne_file(kQueries);
  const Workload workload = first_jobs(*path, 41, 0);
  std::vector<double> left;
  for (const JobSpec& one : workload.jobs) {
    Workload alone = jobs({one});
    RunOptions options;
    options.series_step = seconds(1);
    const RunResult result = run(alone, ClusterModel::one_machine(10), "carbyne(leftover=[])", options);
    for (const auto& sample : result.series.samples) {
      if (sample.running_jobs > 0.5) left.push_back(1 - schedulers::dominant_share(sample.used, sample.capacity));
    }
  }
  std::sort(left.begin(), left.end());
  return {{{"left of the share half of the time", "21 % to 43 %, by resource", single(at_part(left, 0.5)), Unit::percent,
            at_least(1e-9)}}};
}

/// CB-17: real time that a decision takes while so many tasks wait.
Findings cost(const Context& context) {
  Findings found;
  for (const auto& [pending, limit] : {std::pair(10'000u, 0.002), std::pair(50'000u, 0.004)}) {
    std::vector<JobSpec> list;
    for (std::uint32_t i = 0; i < 100; ++i)
      list.push_back(job(
          Time(0), {stage(pending / 200, seconds(10 + i % 7)), stage(pending / 200, seconds(20)), stage(4, seconds(5), {0, 1})}));
    const RunResult result = run(jobs(std::move(list)), carbyne_machines(context.quick ? 32 : 100, 1), "carbyne");
    const double each = in_seconds(result.scheduler_time) / static_cast<double>(result.scheduler_calls);
    found.figures.push_back({fmt::format("milliseconds for a decision, {} tasks waiting at first", pending),
                             limit > 0.003 ? "22" : "20", single(1000 * each), Unit::number, at_most(1000 * limit)});
  }
  return found;
}

}  // namespace

std::vector<Experiment> carbyne_altruism_experiments() {
  const std::string machines =
      "machines of 20 cores, 128 GB, disks and 10 Gbit/s; 250 queries drawn at random, Poisson arrivals every 20 s";
  const std::string one = "one machine of 100 units of six resources, decisions once a second, ";
  return {
      {"CB-1", "Two jobs, of which one yields", kCarbynePaper, "one resource, the two jobs of figure 2", "", example},
      {"CB-6", "Completion times against strict shares (CB-6, CB-7)", kCarbynePaper, "100 and 40 " + machines,
       "80 queries on 32 and 13 machines, one seed", benchmarks_online},
      {"CB-8", "Simulated benchmarks (CB-8, CB-9)", kCarbynePaper,
       one + "399 jobs with Facebook's arrivals; the jobs of 400Jobs.txt on 400 units", "the first 50 jobs", simulated_benchmarks},
      {"CB-10", "More load", kCarbynePaper, "100, 50, 25 and 17 " + machines, "80 queries on 32, 16, 8 and 5 machines, one seed",
       load},
      {"CB-11", "Wrong estimates", kCarbynePaper, one + "the first 50 jobs of " + kFacebookArrivals, "one seed", estimates},
      {"CB-12", "Less altruism", kCarbynePaper, one + "the first 50 jobs of " + kFacebookArrivals, "one seed", less_altruism},
      {"CB-13", "Another packer, and Tetris with fairness (CB-13, CB-14)", kCarbynePaper, one + "all jobs of " + kFacebookArrivals,
       "the first 50 jobs", other_packers},
      {"CB-15", "What jobs leave of their shares", kCarbynePaper, "each of the 41 queries alone on 10 units", "", leftovers},
      {"CB-17", "What a decision costs", kCarbynePaper, "100 machines of 20 cores, 100 jobs of three stages, all at 0",
       "32 machines", cost}};
}

}  // namespace weft::papers

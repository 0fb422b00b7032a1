// Carbyne itself: its example, what altruism gains each job, and what it gains with more load, wrong estimates, less altruism and
// other packers. Grandl et al., OSDI 2016.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/papers/carbyne_runs.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"

namespace weft::papers {
namespace {

const std::string kQueries = "queries_tpcds_new.txt";
const char* const kPacking = "tetris(mode=paper, srtf=false, barrier=2)";
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
  run(example_jobs(), model, "carbyne(mode=paper, leftover=[])", options);
  return {{{"mean completion, strict shares", "2.05", mean("drf(form=closed, mean=all, strict=true)"), Unit::number, exactly(2.05)},
           {"mean completion, Carbyne", "1.55", mean("carbyne(mode=paper)"), Unit::number, exactly(1.55)},
           {"the same, plans that are kept", "1.55", mean("carbyne(mode=safe)"), Unit::number, exactly(1.55)},
           {"what is lent at first", "0.50", single(1 - begins), Unit::number, exactly(0.5)}}};
}

// ---- factors ------------------------------------------------------------------------------------------------------------

std::uint32_t query_count(const Context& context) { return context.quick ? 50 : 250; }

/// Runs of one seed: under YARN's DRF, strict shares of all six resources, Tetris without remaining work, and Carbyne.
struct Runs {
  RunResult yarn, strict, packing, carbyne;
};

Runs drawn_runs(const Context& context, const std::string& path, double load, std::uint64_t seed) {
  const std::uint32_t count = query_count(context);
  const ClusterModel model = carbyne_machines(static_cast<std::uint32_t>(std::lround(machines_for(count) / load)), seed);
  const Workload workload = sized_queries(path, count, true, model);
  const SeenByYarn yarn = seen_by_yarn(model, workload);
  return {run(yarn.workload, yarn.model, "drf"), run(workload, model, kStrictDrf), run(workload, model, kPacking),
          run(workload, model, "carbyne(mode=paper)")};
}

struct Benchmark {
  const char *name, *file, *mean, *high;
};
constexpr Benchmark kBenchmarks[] = {{"TPC-DS", "queries_tpcds_new.txt", "1.36", "1.88"},
                                     {"TPC-H", "queries_tpch.txt", "similar", "1.96"},
                                     {"BigBench", "queries_bb.txt", "similar", "similar"}};

/// CB-6, CB-7: completion times against YARN's DRF, for three benchmarks.
Findings benchmarks_online(const Context& context) {
  Findings found;
  for (const auto& [name, file, mean, high] : kBenchmarks) {
    const auto path = context.trace(file);
    if (!path) return no_carbyne_file(file);
    const auto e = medians_over_seeds(context, [&, path = *path](std::uint64_t seed) {
      const Runs runs = drawn_runs(context, path, 1, seed);
      const auto all = factors(runs.yarn, runs.carbyne), shares = factors(runs.strict, runs.carbyne);
      return std::vector<double>{mean_of(all), at_part(all, 0.95), part_below(all, 0.999), part_below(all, 0.8),
                                 all.front(),  mean_of(shares),    at_part(shares, 0.95),  part_below(shares, 0.8)};
    });
    const std::string what = std::string(name) + ": ";
    found.figures.push_back(
        {what + "mean factor over DRF",
         mean,
         e[0],
         Unit::number,
         {1.2, 1.6},
         "tasks of these queries ask less of links and disks (of TPC-DS as much of links as of cores, of TPC-H three "
         "quarters, of BigBench a third), so that YARN's DRF, which overlooks them, loses less"});
    found.figures.push_back({what + "the factor of 95 %", high, e[1], Unit::number, {}});
    if (std::string(name) == "TPC-DS") {
      found.figures.push_back({what + "jobs that are slower (CB-7)", "16 %", e[2], Unit::percent, at_most(0.25)});
      found.figures.push_back({what + "jobs below 0.8 (CB-7)", "4 %", e[3], Unit::percent, at_most(0.08)});
      found.figures.push_back({what + "the least factor (CB-7)", "0.62", e[4], Unit::number, {}});
      found.figures.push_back({what + "jobs below 0.8, of strict DRF of six resources", "none", e[7], Unit::percent, {}});
    }
    found.figures.push_back({what + "mean factor over strict DRF of six resources", "none", e[5], Unit::number, {}});
    found.figures.push_back({what + "the factor of 95 % over that", "none", e[6], Unit::number, {}});
  }
  found.remark = "Queries, sizes and YARN's DRF as in CB-2. Medians of the seeds, and the farthest of them.";
  return found;
}

/// CB-8: the same queries where no room is lost between machines; CB-9: the authors' file with Facebook's jobs.
Findings simulated_benchmarks(const Context& context) {
  Findings found;
  for (const auto& [name, file, mean, high] : kBenchmarks) {
    const auto path = context.trace(file);
    if (!path) return no_carbyne_file(file);
    for (const double load : {1.0, 1.5}) {
      const auto e = medians_over_seeds(context, [&, path = *path](std::uint64_t seed) {
        ClusterModel model = ClusterModel::one_machine(machines_for(query_count(context)) / load);
        model.seed = seed;
        const Workload workload = sized_queries(path, query_count(context), true, model);
        const RunResult ours = run(workload, model, "carbyne(mode=paper)");
        const auto shares = factors(run(workload, model, kStrictDrf), ours), packed = factors(run(workload, model, kPacking), ours);
        return std::vector<double>{mean_of(shares), at_part(shares, 0.95), mean_of(packed), at_part(packed, 0.95)};
      });
      const std::string what = fmt::format("{}, load {}: ", name, load);
      const std::string few = "at this rate few queries are there at a time; at load 1.5 the figure is beyond it";
      found.figures.push_back({what + "mean factor over strict DRF", "up to 1.59", e[0], Unit::number, {}});
      found.figures.push_back({what + "the factor of 95 %", "up to 7.67", e[1], Unit::number, {}});
      found.figures.push_back({what + "mean factor over Tetris", "up to 1.59", e[2], Unit::number,
                               load == 1 && std::string(name) == "TPC-DS" ? Band{1.3, 1.8} : Band{},
                               "a mean of ratios, to which a few short queries that Tetris leaves behind long ones give most (see "
                               "the factor of 95 %)"});
      found.figures.push_back({what + "the factor of 95 %", "up to 7.67", e[3], Unit::number, {}});
    }
  }
  const std::string file = "400Jobs.txt";
  const auto path = context.trace(file);
  if (!path) return no_carbyne_file(file);
  const Workload workload = first_jobs(*path, context.quick ? 50 : 399, 1);
  const ClusterModel model = ClusterModel::one_machine(400);
  const auto all = factors(run(workload, model, kStrictDrf), run(workload, model, "carbyne(mode=paper)"));
  found.figures.push_back(
      {"Facebook's jobs (CB-9): mean factor over strict DRF", "up to 2.85", single(mean_of(all)), Unit::number, at_least(1)});
  found.figures.push_back(
      {"Facebook's jobs (CB-9): the factor of 95 %", "up to 8.88", single(at_part(all, 0.95)), Unit::number, {}});
  found.remark = "Queries and sizes as in CB-2; Tetris packs and knows nothing of remaining work.";
  return found;
}

// ---- sensitivity --------------------------------------------------------------------------------------------------------

/// CB-10: the same queries on fewer machines.
Findings load(const Context& context) {
  const auto path = context.trace(kQueries);
  if (!path) return no_carbyne_file(kQueries);
  constexpr double kLoads[] = {1, 2, 4, 6};
  const Band bands[] = {at_most(1.57 * 1.1), {1.76 * 0.9, 1.91 * 1.1}, {}, {}};
  const std::vector<std::string> published_as{"up to 1.57", "1.76 to 1.91", "more", "as at 4"};
  Findings found;
  Curve theirs{"published", {}, true}, ours{"measured", {}, false};
  std::vector<double> means;
  for (std::size_t i = 0; i < std::size(kLoads); ++i) {
    const auto e = medians_over_seeds(context, [&](std::uint64_t seed) {
      const Runs runs = drawn_runs(context, *path, kLoads[i], seed);
      const double mean = mean_completion(runs.carbyne);
      return std::vector<double>{mean_completion(runs.yarn) / mean, mean_completion(runs.strict) / mean,
                                 mean_of(factors(runs.yarn, runs.carbyne)), mean_of(factors(runs.strict, runs.carbyne))};
    });
    means.push_back(e[0].mean);
    ours.points.push_back({kLoads[i], e[0].mean});
    const std::string at = fmt::format(" at load {}", kLoads[i]);
    found.figures.push_back({"mean completion, DRF over Carbyne" + at, published_as[i], e[0], Unit::number, bands[i],
                             "beyond it: how much YARN's tasks lose to overcommitted disks and links is not published"});
    found.figures.push_back({"the same, strict DRF of six resources" + at, "none", e[1], Unit::number, {}});
    found.figures.push_back({"mean factor of the jobs, DRF" + at, "none", e[2], Unit::number, {}});
    found.figures.push_back({"mean factor of the jobs, strict DRF of six resources" + at, "none", e[3], Unit::number, {}});
  }
  found.figures.push_back({"load 4 over load 1", "more than 1", single(means[2] / means[0]), Unit::number, at_least(1)});
  found.figures.push_back({"load 6 over load 4",
                           "about 1",
                           single(means[3] / means[2]),
                           Unit::number,
                           {0.85, 1.15},
                           "on three and five machines (--quick) a large query more or less decides"});
  for (const auto& row : published("carbyne_load.csv")) theirs.points.push_back({row[0], row[1]});
  found.charts.push_back(
      line_chart("carbyne-load.svg", "Mean completion of DRF over Carbyne", "load (multiples)", "factor", {theirs, ours}));
  found.remark =
      "Queries, sizes and YARN's DRF as in CB-2. The factor is of mean completion times, the metric that the paper names first.";
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
      return std::vector<double>{mean_of(factors(run(workload, model, kStrictDrf), run(workload, model, "carbyne(mode=paper)")))};
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
  double before = 0;
  for (const auto& row : published("carbyne_altruism.csv")) {
    const auto e = context.over_seeds([&](std::uint64_t seed) {
      return std::vector<double>{
          mean_of(factors(strict, run(workload, model, fmt::format("carbyne(mode=paper, altruism={}, seed={})", row[0], seed))))};
    });
    theirs.points.push_back({row[0], row[1]});
    ours.points.push_back({row[0], e[0].mean});
    found.figures.push_back({fmt::format("mean factor over strict DRF, P = {}", row[0]), fmt::format("{}", row[1]), e[0],
                             Unit::number, at_least(before)});
    before = e[0].mean;
  }
  found.remark =
      "With P = 0 what shares leave goes out by DRF, too, as with the paper: it is DRF then. With any other P it goes to the "
      "shortest "
      "job first, and that alone gains most of this.";
  found.charts.push_back(line_chart("carbyne-altruism.svg", "Mean factor of improvement over DRF", "probability of altruism",
                                    "factor", {theirs, ours}));
  return found;
}

/// CB-13, CB-14: another packer inside jobs, and Tetris that is strictly fair; then the same with many
/// more jobs than the machine can do meanwhile.
Findings other_packers(const Context& context) {
  const auto path = context.trace(kFacebookArrivals);
  if (!path) return no_carbyne_file(kFacebookArrivals);
  const ClusterModel model = ClusterModel::one_machine(100);
  Findings found;
  for (const std::size_t count : {50u, 399u}) {
    if (context.quick && count > 50) break;
    const Workload workload = first_jobs(*path, count, 1);
    const RunResult strict = run(workload, model, kStrictDrf), carbyne = run(workload, model, "carbyne(mode=paper)"),
                    dagps = run(workload, model, "carbyne(mode=paper, intra=dagps)"),
                    fair = run(workload, model, "tetris(mode=paper, fairness=0.999)");
    const auto better = factors(carbyne, dagps), of_fair = factors(fair, carbyne);
    const std::string all = count == 50 ? "" : "all 399 jobs: ";
    const auto band = [count](double low) { return count == 50 ? at_least(low) : Band{}; };
    const auto add = [&](const char* what, const char* published, double measured, Band judged, Unit unit = Unit::number) {
      found.figures.push_back({all + what, published, single(measured), unit, judged});
    };
    add("CB-13: jobs at least as fast with dagps as with packing", "50 %", 1 - part_below(better, 1), band(0.5), Unit::percent);
    add("CB-13: factor of 75 % over strict DRF, packing", "2.36", at_part(factors(strict, carbyne), 0.75), {});
    add("CB-13: the same, dagps", "3.41", at_part(factors(strict, dagps), 0.75), {});
    add("CB-14: Jain index of fair shares, Carbyne", "0.89", carbyne.fairness.mean_fair_shares, {});
    add("CB-14: the same, Tetris with fairness 1", "0.84", fair.fairness.mean_fair_shares, {});
    add("CB-14: mean factor over Tetris with fairness 1", "1.22", mean_of(of_fair), band(1.22));
    add("CB-14: the factor of 95 %", "2.9", at_part(of_fair, 0.95), {});
    add("CB-14: makespan, Tetris with fairness 1 over Carbyne", "1.06", in_seconds(fair.makespan) / in_seconds(carbyne.makespan),
        band(1));
  }
  found.remark =
      "The 399 jobs come within 22 minutes, three to four times what the machine can do: three hundred wait at a time, neither "
      "packer "
      "inside "
      "jobs matters then, and the last queries begin late under all.";
  return found;
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
    const RunResult result = run(alone, ClusterModel::one_machine(10), "carbyne(mode=paper, leftover=[])", options);
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
    const RunResult result = run(jobs(std::move(list)), carbyne_machines(context.quick ? 32 : 100, 1), "carbyne(mode=paper)");
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
  return {{"CB-1", "Two jobs, of which one yields", kCarbynePaper, "one resource, the two jobs of figure 2", "", example},
          {"CB-6", "Completion times against DRF (CB-6, CB-7)", kCarbynePaper, "100 " + machines,
           "50 queries on 20 machines, one every 100 s, one seed", benchmarks_online},
          {"CB-8", "Simulated benchmarks (CB-8, CB-9)", kCarbynePaper,
           "one machine of 100 units of six resources, decisions once a second; 250 queries drawn at random, Poisson arrivals "
           "every 20 s; "
           "the jobs of 400Jobs.txt on 400 units",
           "50 queries on 20 units, one every 100 s, one seed", simulated_benchmarks},
          {"CB-10", "More load", kCarbynePaper, "100, 50, 25 and 17 " + machines,
           "50 queries on 20, 10, 5 and 3 machines, one seed", load},
          {"CB-11", "Wrong estimates", kCarbynePaper, one + "the first 50 jobs of " + kFacebookArrivals, "one seed", estimates},
          {"CB-12", "Less altruism", kCarbynePaper, one + "the first 50 jobs of " + kFacebookArrivals, "one seed", less_altruism},
          {"CB-13", "Another packer, and Tetris with fairness (CB-13, CB-14)", kCarbynePaper,
           one + "all jobs of " + kFacebookArrivals, "the first 50 jobs", other_packers},
          {"CB-15", "What jobs leave of their shares", kCarbynePaper, "each of the 41 queries alone on 10 units", "", leftovers},
          {"CB-17", "What a decision costs", kCarbynePaper, "100 machines of 20 cores, 100 jobs of three stages, all at 0",
           "32 machines", cost}};
}

}  // namespace weft::papers

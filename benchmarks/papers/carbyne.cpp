// What Carbyne is compared with: shares (DRF), packing (Tetris) and shortest jobs first on its authors' queries. Grandl et al.,
// OSDI 2016, and runs of the authors' own simulator.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "benchmarks/papers/carbyne_runs.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/reference_order.hpp"
#include "benchmarks/papers/runs.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::papers {
namespace {

// ---- the authors' simulator ---------------------------------------------------------------------------------------------

struct Recorded {
  const char* policy;
  const char* scheduler;
  double tolerance;
  double mean, makespan;            // as the jobs arrive, s
  double mean_once, makespan_once;  // all at 0
  const char* reason = "";          // of a miss
};
constexpr Recorded kRecorded[] = {
    {"DRF with strict shares", kReferenceShares, 0.02, 415.28, 761, 451.28, 779},
    {"shortest job first, longest path first", kReferenceShortest, 0.01, 264.48, 656, 288.16, 658},
    {"Tetris, dot product alone", kReferenceTetris, 0.005, 462.32, 782, 470.92, 835},
    {"Carbyne", "carbyne(mode=reference)", 0.10, 280.78, 679, 299.82, 676},
    {"Carbyne as published, not as that simulator is", "carbyne(mode=paper)", 0.10, 280.78, 679, 299.82, 676},
    {"Carbyne with plans that are kept", "carbyne(mode=safe)", 0.10, 280.78, 679, 299.82, 676,
     "what is kept free for plans idles"}};

Findings recorded_runs(const Context& context) {
  const std::string file = "queries_tpcds_FB_distr_new.txt";
  const auto path = context.trace(file);
  if (!path) return no_carbyne_file(file);
  Findings found;
  for (const bool at_once : {false, true}) {
    const Workload workload = first_jobs(*path, 50, at_once ? 0 : 1);
    for (const Recorded& recorded : kRecorded) {
      const RunResult result = run(workload, ClusterModel::one_machine(100), recorded.scheduler);
      const std::string what = fmt::format("{}, {}: ", recorded.policy, at_once ? "all at once" : "as they arrive");
      const auto add = [&](const char* figure, double expected, double measured) {
        found.figures.push_back({what + figure,
                                 fmt::format("{} s", expected),
                                 single(measured),
                                 Unit::time,
                                 {expected * (1 - recorded.tolerance), expected * (1 + recorded.tolerance)},
                                 recorded.reason});
      };
      add("mean completion", at_once ? recorded.mean_once : recorded.mean, mean_completion(result));
      add("makespan", at_once ? recorded.makespan_once : recorded.makespan, in_seconds(result.makespan));
    }
  }
  return found;
}

// ---- CB-2 to CB-5 -----------------------------------------------------------------------------------------------------

constexpr const char* kLentShares = "carbyne(mode=paper, loan=share)";
constexpr const char* kSharesThenShortest = "drf(form=closed, mean=all, leftover=[srtf, packing], stages=cpm)";

/// Completion, makespan and fairness under each of these. YARN's own schedulers account for cores and memory alone.
struct Compared {
  const char* scheduler;
  bool yarn = false;
};
constexpr Compared kCompared[] = {
    {"drf", true}, {"srtf(stages=cpm)", true}, {"tetris(mode=paper)"},  {"tetris(mode=paper, srtf=false, barrier=2)"},
    {kStrictDrf},  {"srtf(stages=cpm)"},       {"carbyne(mode=paper)"}, {"carbyne(mode=safe)"},
    {kLentShares}, {kSharesThenShortest}};
enum Scheduler : std::size_t { drf, shortest, tetris, packing, strict, shortest_of_six, carbyne, safe, lent, then_shortest };
enum Quantity : std::size_t { completion, makespan, fairness };

using Drawn = std::vector<std::vector<double>>;  // by scheduler, by quantity

std::uint32_t queries_of(const Context& context) { return context.quick ? 50 : 250; }

/// `load`: so many times fewer machines.
Drawn compare(const Context& context, const std::string& path, bool online, double load, std::uint64_t seed) {
  const std::uint32_t count = queries_of(context);
  const auto nodes = static_cast<std::uint32_t>(std::lround(machines_for(count) / load));
  const ClusterModel model = carbyne_machines(nodes, seed);
  const Workload workload = sized_queries(path, count, online, model);
  const SeenByYarn yarn = seen_by_yarn(model, workload);
  Drawn drawn;
  for (const Compared& one : kCompared) {
    const RunResult result = run(one.yarn ? yarn.workload : workload, one.yarn ? yarn.model : model, one.scheduler);
    drawn.push_back({mean_completion(result), in_seconds(result.makespan), result.fairness.mean_fair_shares});
  }
  return drawn;
}

/// Ratios of two schedulers' quantities and single ones, by seed.
struct Asked {
  Quantity quantity;
  Scheduler of, over;  // the same twice: not a ratio
};

std::vector<Estimate> ask(const Context& context, const std::string& path, bool online, double load,
                          const std::vector<Asked>& asked) {
  return medians_over_seeds(context, [&](std::uint64_t seed) {
    const Drawn drawn = compare(context, path, online, load, seed);
    std::vector<double> values;
    for (const Asked& one : asked)
      values.push_back(drawn[one.of][one.quantity] / (one.of == one.over ? 1 : drawn[one.over][one.quantity]));
    return values;
  });
}

const char* const kSizes =
    "Each query has as many tasks as an input needs that is drawn between a size and a hundred times that (the paper: from GBs to "
    "hundreds of GBs), uniform in its logarithm; all together they keep nine tenths of the scarcest resource in use for the 4356 s "
    "that Tetris is published to take for them at once. DRF and shortest first are those of YARN, which account for cores and "
    "memory "
    "alone; where tasks ask for more of disks and links than a machine has, they take longer. With six resources each tells what "
    "that changes. Medians of the seeds, and the farthest of them.";

Findings offline(const Context& context) {
  const std::string file = "queries_tpcds_new.txt";
  const auto path = context.trace(file);
  if (!path) return no_carbyne_file(file);
  const auto e = ask(context, *path, false, 1,
                     {{makespan, drf, tetris},
                      {makespan, shortest, tetris},
                      {makespan, carbyne, tetris},
                      {makespan, drf, carbyne},
                      {makespan, strict, carbyne},
                      {completion, drf, shortest},
                      {completion, tetris, shortest},
                      {completion, packing, shortest},
                      {completion, carbyne, shortest},
                      {completion, drf, carbyne},
                      {completion, strict, carbyne},
                      {completion, strict, safe},
                      {completion, carbyne, shortest_of_six},
                      {fairness, drf, drf},
                      {fairness, carbyne, carbyne},
                      {fairness, tetris, tetris},
                      {fairness, shortest, shortest},
                      {completion, strict, lent},
                      {completion, strict, then_shortest},
                      {fairness, lent, lent},
                      {fairness, then_shortest, then_shortest}});
  const std::string slower =
      "the order is that of the paper; how much tasks slow each other down where disks and links are overcommitted is not "
      "published, "
      "and here a disk loses little (d^-0.2 of its rate)";
  const std::string all_six =
      "what all six resources are accounted for loses no time to overcommitment, and keeps 95 % of the scarcest in use: nothing is "
      "left to win back";
  const std::string weight =
      "the weight that Tetris gives to remaining work is not published: with weft's it is nearer to shortest first, without any "
      "further from it (next figure)";
  return {
      {{"CB-2: makespan, DRF over Tetris", "1.26", e[0], Unit::number, {1.16, 1.36}, slower},
       {"CB-2: makespan, shortest first over Tetris", "1.43", e[1], Unit::number, {1.33, 1.53}, slower},
       {"CB-2: makespan, Carbyne over Tetris", "1.03", e[2], Unit::number, {0.93, 1.13}},
       {"CB-2: makespan, DRF over Carbyne", "1.22", e[3], Unit::number, {1.12, 1.32}, slower},
       {"CB-2: makespan, strict DRF of six resources over Carbyne", "1.22", e[4], Unit::number, {1.12, 1.32}, all_six},
       {"CB-3: mean completion, DRF over shortest first", "1.59", e[5], Unit::number, {1.44, 1.74}},
       {"CB-3: mean completion, Tetris over shortest first", "1.46", e[6], Unit::number, {1.31, 1.61}, weight},
       {"CB-3: mean completion, Tetris without remaining work over shortest first",
        "1.46",
        e[7],
        Unit::number,
        {1.31, 1.61},
        "as above"},
       {"CB-3: mean completion, Carbyne over shortest first", "1.06", e[8], Unit::number, {0.91, 1.21}},
       {"CB-3: mean completion, DRF over Carbyne",
        "1.50",
        e[9],
        Unit::number,
        {1.35, 1.65},
        "beyond it: how much YARN's tasks lose to overcommitted disks and links is not published; without any such loss it is the "
        "next "
        "figure"},
       {"CB-3: mean completion, strict DRF of six resources over Carbyne",
        "1.50",
        e[10],
        Unit::number,
        {1.35, 1.65},
        "the paper's DRF is YARN's (the figure above); shares of all six resources lose nothing to overcommitment"},
       {"the same, plans that are kept", "none", e[11], Unit::number, {}},
       {"the same, shares that are lent", "none", e[17], Unit::number, {}},
       {"the same, DRF that leaves the rest to the shortest job, in place of Carbyne", "none", e[18], Unit::number, {}},
       {"mean completion, Carbyne over shortest first of six resources", "none", e[12], Unit::number, {}},
       {"Jain index of fair shares, DRF", "0.86", e[13], Unit::number, {}},
       {"the same, Carbyne", "0.81", e[14], Unit::number, {}},
       {"the same, Carbyne with shares that are lent", "none", e[19], Unit::number, {}},
       {"the same, DRF that leaves the rest to the shortest job", "none", e[20], Unit::number, {}},
       {"the same, Tetris", "0.74", e[15], Unit::number, {}},
       {"the same, shortest first", "0.64", e[16], Unit::number, {}}},
      {},
      std::string(kSizes) +
          " [simulator.md](simulator.md#jains-index-of-fair-shares) tells which index of fairness it is, and how it depends on the "
          "workload: it is compared in CB-4."};
}

Findings fair_shares(const Context& context) {
  const std::string file = "queries_tpcds_FB_distr_new.txt";
  const auto path = context.trace(file);
  if (!path) return no_carbyne_file(file);
  const Workload workload = first_jobs(*path, 50, 0);
  const auto index = [&](const char* scheduler) {
    return single(run(workload, ClusterModel::one_machine(100), scheduler).fairness.mean_fair_shares);
  };
  return {{{"Jain index of fair shares, DRF", "0.86", index("drf"), Unit::number, {0.78, 0.94}},
           {"the same, Carbyne", "0.81", index("carbyne(mode=paper)"), Unit::number, {0.73, 0.89}},
           {"the same, Carbyne with plans that are kept", "0.81", index("carbyne(mode=safe)"), Unit::number, {0.73, 0.89}},
           {"the same, Carbyne with shares that are lent", "none", index(kLentShares), Unit::number, {}},
           {"the same, DRF that leaves the rest to the shortest job", "none", index(kSharesThenShortest), Unit::number, {}},
           {"the same, Tetris", "0.74", index("tetris(mode=paper)"), Unit::number, {0.66, 0.82}},
           {"the same, shortest first", "0.64", index("sjf"), Unit::number, {0.56, 0.72}}}};
}

/// CB-5, and where its figures lie with less room.
Findings online(const Context& context) {
  const std::string file = "queries_tpcds_new.txt";
  const auto path = context.trace(file);
  if (!path) return no_carbyne_file(file);
  const std::string idle =
      "a fifth of the cluster idles at this rate, and most queries run alone in what they ask for; with more load (below) the "
      "figure "
      "comes up to the published one";
  Findings found;
  for (const double load : {1.0, 1.25, 1.5}) {
    if (context.quick && load > 1) break;
    const auto e = ask(context, *path, true, load,
                       {{fairness, drf, drf},
                        {fairness, carbyne, carbyne},
                        {completion, carbyne, shortest_of_six},
                        {completion, carbyne, shortest},
                        {makespan, carbyne, tetris},
                        {completion, drf, carbyne},
                        {completion, strict, carbyne}});
    const Estimate less{e[0].mean - e[1].mean, e[0].half_width + e[1].half_width, e[0].runs};
    const bool judged = load == 1;
    const std::string at = judged ? "" : fmt::format("load {}: ", load);
    const auto band = [judged](double low, double high) { return judged ? Band{low, high} : Band{}; };
    found.figures.push_back(
        {at + "Jain index of fair shares, DRF less Carbyne", "0.06", less, Unit::number, band(0.02, 0.10), idle});
    found.figures.push_back(
        {at + "mean completion, Carbyne over shortest first of six resources", "1.2", e[2], Unit::number, band(1.05, 1.35), idle});
    found.figures.push_back({at + "the same over YARN's shortest first", "1.2", e[3], Unit::number, {}});
    found.figures.push_back({at + "makespan, Carbyne over Tetris", "1.07", e[4], Unit::number, band(1.00, 1.14),
                             "the last query to come ends last under all: nothing is left to gain"});
    found.figures.push_back({at + "mean completion, DRF over Carbyne", "none", e[5], Unit::number, {}});
    found.figures.push_back({at + "mean completion, strict DRF of six resources over Carbyne", "none", e[6], Unit::number, {}});
  }
  found.remark = "Queries, sizes and YARN's schedulers as in CB-2; one every 20 s is 0.8 of what 100 machines can do.";
  return found;
}

}  // namespace

std::vector<Experiment> carbyne_experiments() {
  const std::string cluster_text = "100 machines of 20 cores, 128 GB, disks and 10 Gbit/s; 250 TPC-DS queries drawn at random";
  return {
      {"CB-0", "The authors' simulator, run again", "runs of the simulator in " + std::string(kCarbyneFiles),
       "one machine of 100 units of six resources, decisions once a second, the first 50 jobs of queries_tpcds_FB_distr_new.txt, "
       "those of one second in the order of the recorded run",
       "", recorded_runs},
      {"CB-2", "Shares, packing and shortest first, all queries at once (CB-2, CB-3)", kCarbynePaper, cluster_text + ", all at 0",
       "50 queries on 20 machines, one seed", offline},
      {"CB-4", "Fairness, all queries at once", kCarbynePaper,
       "one machine of 100 units, the first 50 jobs of queries_tpcds_FB_distr_new.txt; windows of 60 s", "", fair_shares},
      {"CB-5", "CB-2 with arrivals: a query every 20 s", kCarbynePaper, cluster_text + ", Poisson arrivals every 20 s",
       "50 queries on 20 machines, one every 100 s, at load 1, one seed", online}};
}

}  // namespace weft::papers

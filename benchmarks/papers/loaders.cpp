// What public traces hold: a loader that counts otherwise is wrong. Counts of the files as they are, by a program of our own that
// shares nothing with weft; Carbyne's stages and depths also from the paper's tables.
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::papers {
namespace {

using simulator::workloads::Figures;

struct Count {
  const char* what;
  double (*of)(const Figures&);
  double expected;
  double tolerance = 0;  // what rounding in the source allows
};

struct File {
  std::string kind, name, settings;
  std::vector<Count> counts;
};

double part_of_jobs(std::size_t count, const Figures& f) { return 100 * static_cast<double>(count) / static_cast<double>(f.jobs); }

const auto kJobs = [](const Figures& f) { return static_cast<double>(f.jobs); };
const auto kStages = [](const Figures& f) { return static_cast<double>(f.stages); };
const auto kEdges = [](const Figures& f) { return static_cast<double>(f.edges); };
const auto kTasks = [](const Figures& f) { return static_cast<double>(f.tasks); };
const auto kMaps = [](const Figures& f) { return static_cast<double>(f.first_stage_tasks); };
const auto kHosts = [](const Figures& f) { return static_cast<double>(f.hosts); };

File swim(std::string name, double jobs, double gap, double input, double shuffle, double output, double heavy, double maps) {
  return {"swim",
          std::move(name),
          "",
          {{"jobs", kJobs, jobs},
           {"mean gap, s", [](const Figures& f) { return f.mean_gap; }, gap, 0.006},
           {"input, TB", [](const Figures& f) { return f.input_bytes / 1e12; }, input, input * 1e-3},
           {"shuffle, TB", [](const Figures& f) { return f.shuffle_bytes / 1e12; }, shuffle, shuffle * 1e-3},
           {"output, TB", [](const Figures& f) { return f.output_bytes / 1e12; }, output, output * 1e-3},
           {"jobs that shuffle more than they read, %", [](const Figures& f) { return part_of_jobs(f.heavy, f); }, heavy, 0.006},
           {"maps of 64 MiB", kMaps, maps}}};
}

File dags(std::string kind, std::string name, double jobs, double tasks) {
  return {std::move(kind), std::move(name), "", {{"jobs", kJobs, jobs}, {"tasks", kTasks, tasks}}};
}

/// As published of Carbyne's queries.
File queries(std::string name, double p50, double p95) {
  return {"carbyne",
          std::move(name),
          "",
          {{"stages, median", [](const Figures& f) { return f.stages_p50; }, p50},
           {"stages, 95 %", [](const Figures& f) { return f.stages_p95; }, p95, 0.5},
           {"stages on the longest path, median", [](const Figures& f) { return f.depth_p50; }, 5}}};
}

File rows(std::string name, double jobs, double stages, double edges) {
  return {"alibaba", std::move(name), "", {{"DAGs", kJobs, jobs}, {"stages", kStages, stages}, {"edges", kEdges, edges}}};
}

Findings counted(const Context& context, const std::vector<File>& files, const std::string& source) {
  Findings found;
  for (const File& file : files) {
    const auto path = context.trace(file.name);
    if (!path) {
      found.missing += (found.missing.empty() ? "" : ", ") + file.name;
      continue;
    }
    std::string settings = file.settings;
    if (const auto at = settings.find("topology="); at != std::string::npos)
      settings = ",topology=" + context.trace(settings.substr(at + 9)).value_or("");
    const auto workload = bench::need(simulator::workloads::load(file.kind + ":" + *path + settings, {}));
    const Figures figures = simulator::workloads::figures_of(workload);
    for (const Count& count : file.counts) {
      found.figures.push_back({file.name + ": " + count.what,
                               fmt::format("{:.10g}", count.expected),
                               single(count.of(figures)),
                               Unit::number,
                               {count.expected - count.tolerance - 1e-9, count.expected + count.tolerance + 1e-9}});
    }
  }
  if (!found.missing.empty())
    found.missing = fmt::format("{} are not below --traces (or WEFT_TRACES); they come from {}", found.missing, source);
  return found;
}

/// `from`: where the files are to be had; without a paper they are the source themselves.
Experiment loader(std::string id, std::string title, const std::string& from, const std::vector<File>& files,
                  const std::string& paper = "") {
  return {std::move(id),
          std::move(title),
          paper.empty() ? from : paper,
          "the files as they are, read by weft's loader",
          "",
          [files, from](const Context& context) { return counted(context, files, from); }};
}

}  // namespace

std::vector<Experiment> loader_experiments() {
  const std::string carbyne = "github.com/lenhattan86/IRFsim";
  return {loader("SW-19", "Facebook's workloads, and how many of their jobs are heavy in shuffle", "github.com/SWIMProjectUCB/SWIM",
                 {swim("FB-2010_samples_24_times_1hr_0.tsv", 24442, 3.535, 1083, 437.9, 339.4, 20.89, 16150741),
                  swim("FB-2009_samples_24_times_1hr_0.tsv", 5894, 14.65, 26.89, 22.22, 6.853, 15.51, 406005),
                  swim("FB-2009_samples_24_times_1hr_1.tsv", 6638, 13.01, 33.57, 14.10, 9.161, 13.84, 506098)}),
          loader("CB-16", "Carbyne's queries: stages and depths", carbyne,
                 {queries("queries_tpcds_new.txt", 8, 23), queries("queries_tpch.txt", 8, 12), queries("queries_bb.txt", 7, 19)},
                 "Grandl et al., Altruistic Scheduling, OSDI 2016, tables 1 and 2"),
          loader("L-1", "Carbyne's DAGs", carbyne,
                 {dags("carbyne", "queries_tpcds_new.txt", 41, 9902),
                  dags("carbyne", "queries_tpch.txt", 17, 3772),
                  dags("carbyne", "queries_bb.txt", 21, 15111),
                  dags("carbyne", "queries_tpcds_FB_distr_new.txt", 399, 97413),
                  dags("carbyne", "queries_tpch_FB_distr.txt", 399, 91304),
                  dags("carbyne", "queries_bb_FB_distr.txt", 399, 307755),
                  {"carbyne", "400Jobs.txt", "", {{"jobs", kJobs, 399}, {"tasks", kTasks, 98114}, {"stages", kStages, 541}}}}),
          loader("L-2", "Coflows of Facebook", "github.com/coflow/coflow-benchmark",
                 {{"coflow",
                   "FB2010-1Hr-150-0.txt",
                   "",
                   {{"ports", kHosts, 150},
                    {"coflows", kJobs, 526},
                    {"span, s", [](const Figures& f) { return std::chrono::duration<double>(f.span).count(); }, 3629, 0.5},
                    {"TB", [](const Figures& f) { return f.shuffle_bytes / 1e12; }, 35.5, 0.05},
                    {"of 10 GB and more", [](const Figures& f) { return static_cast<double>(f.large_shuffles); }, 55},
                    {"their part of the bytes, %", [](const Figures& f) { return 100 * f.large_shuffle_bytes / f.shuffle_bytes; },
                     99.3, 0.05}}}}),
          loader("L-3", "TPC-H on Spark, as measured for Decima",
                 "github.com/hongzimao/decima-sim, one JSON line for each query and scale",
                 {{"decima",
                   "decima_tpch.jsonl",
                   ",scale_gb=2",
                   {{"queries", kJobs, 22}, {"stages", kStages, 202}, {"edges", kEdges, 187}, {"tasks at 2 GB", kTasks, 20065}}},
                  {"decima", "decima_tpch.jsonl", ",scale_gb=100", {{"tasks at 100 GB", kTasks, 34660}}}}),
          loader("L-4", "DAGs of Alibaba's 2018 trace", "github.com/erdos-project/erdos-scheduling-simulator",
                 {rows("alibaba_set_0_6600_dags.csv", 6600, 25196, 19859),
                  rows("alibaba_straight_chain_10K_dags_set1.csv", 10000, 26920, 16916),
                  rows("medium_filtered.csv", 3690, 22409, 20108)}),
          loader("L-5", "Job histories of Hadoop (Rumen)", "github.com/apache/hadoop and github.com/facebookarchive/hadoop-20",
                 {{"rumen", "2jobs2min-rumen-jh.json", "", {{"jobs", kJobs, 2}, {"maps", kMaps, 192}}},
                  {"rumen",
                   "zombie-input-trace.json",
                   ",topology=zombie-input-topology.json",
                   {{"racks", [](const Figures& f) { return static_cast<double>(f.racks); }, 41}, {"nodes", kHosts, 522}}}})};
}

}  // namespace weft::papers

#include "benchmarks/papers/carbyne_runs.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/papers/reference_order.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::papers {

Findings no_carbyne_file(const std::string& file) {
  return {{}, {}, "", fmt::format("{} is not below --traces (or WEFT_TRACES); it comes from {}", file, kCarbyneFiles)};
}

Workload first_jobs(const std::string& path, std::size_t count, double arrivals) {
  const std::string order = arrivals == 1 ? fmt::format(",{}", kReferenceOrder) : "";
  Workload workload = bench::need(simulator::workloads::load("carbyne:" + path + order, {}));
  bench::need(simulator::workloads::resize(workload, {1, arrivals, count}));
  return workload;
}

ClusterModel carbyne_machines(std::uint32_t count, std::uint64_t seed) {
  ClusterModel model = cluster(count, 20);
  schedulers::Resources& each = model.groups[0].capacity;
  each.memory = 128e9;
  each.disk_read = each.disk_write = 1e9;
  each.network_in = each.network_out = 1.25e9;
  model.seed = seed;
  return model;
}

std::uint32_t machines_for(std::uint32_t queries) { return queries * 2 / 5; }

Workload sized_queries(const std::string& path, std::uint32_t count, bool online, const ClusterModel& model) {
  constexpr double kHundredfold = 100, kMakespan = 4356, kUsed = 0.9;
  simulator::workloads::Context meaning;
  meaning.machine = model.groups[0].capacity;
  if (model.node_count() == 1) meaning.machine = {1, 1, 1, 1, 1, 1, 0, 0};  // demands are in units of the one machine
  meaning.seed = model.seed;
  const double machines = machines_for(count);
  Workload workload = bench::need(simulator::workloads::load(
      fmt::format("carbyne:{},sample={},gap={}ms", path, count, std::llround(1000 * 20 * 100 / machines)), meaning));
  Random random(model.seed, 77);
  schedulers::Resources work;
  std::vector<double> sizes;
  for (const JobSpec& one : workload.jobs) {
    sizes.push_back(std::pow(kHundredfold, random.uniform() - 0.5));
    for (const StageSpec& spec : one.stages) work += spec.demand * (sizes.back() * spec.tasks * in_seconds(spec.duration));
  }
  const double scale = kMakespan * kUsed * machines / schedulers::dominant_share(work, meaning.machine);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (StageSpec& spec : workload.jobs[i].stages)
      spec.tasks = static_cast<std::uint32_t>(std::max(1ll, std::llround(scale * sizes[i] * spec.tasks)));
    if (!online) workload.jobs[i].arrival = Time(0);
  }
  return workload;
}

SeenByYarn seen_by_yarn(const ClusterModel& model, Workload workload) {
  SeenByYarn seen{model, std::move(workload)};
  schedulers::Resources& each = seen.model.groups[0].capacity;
  const schedulers::Resources whole = each;
  constexpr double kDisk = 1e9;
  seen.model.interference.cpu = whole.cpu;
  seen.model.interference.disk = kDisk;
  each = {};
  each.cpu = whole.cpu;
  each.memory = whole.memory;
  for (JobSpec& one : seen.workload.jobs) {
    for (StageSpec& spec : one.stages) {
      const auto part = [&](double schedulers::Resources::*kind) { return spec.demand.*kind / whole.*kind; };
      using R = schedulers::Resources;
      spec.load.cpu = spec.demand.cpu;
      spec.load.disk_read =
          kDisk * std::max({part(&R::disk_read), part(&R::disk_write), part(&R::network_in), part(&R::network_out)});
      const R asked = spec.demand;
      spec.demand = {};
      spec.demand.cpu = asked.cpu;
      spec.demand.memory = asked.memory;
    }
  }
  return seen;
}

Estimate median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Estimate estimate{at_part(values, 0.5), 0, values.size()};
  estimate.half_width = std::max(estimate.mean - values.front(), values.back() - estimate.mean);
  return estimate;
}

std::vector<Estimate> medians_over_seeds(const Context& context,
                                         const std::function<std::vector<double>(std::uint64_t seed)>& measure) {
  std::mutex mutex;
  std::vector<std::vector<double>> values;  // by figure
  context.over_seeds([&](std::uint64_t seed) {
    auto figures = measure(seed);
    const std::lock_guard lock(mutex);
    values.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) values[i].push_back(figures[i]);
    return figures;
  });
  std::vector<Estimate> medians;
  for (auto& of_figure : values) medians.push_back(median_of(std::move(of_figure)));
  return medians;
}

std::vector<double> factors(const RunResult& of, const RunResult& over) {
  std::vector<double> all;
  for (std::size_t i = 0; i < of.jobs.size(); ++i) {
    const auto a = of.jobs[i].completion_time(), b = over.jobs[i].completion_time();
    if (a && b) all.push_back(in_seconds(*a) / in_seconds(*b));
  }
  std::sort(all.begin(), all.end());
  return all;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double at_part(const std::vector<double>& ascending, double part) {
  return ascending[static_cast<std::size_t>(std::llround(part * static_cast<double>(ascending.size() - 1)))];
}

double part_below(const std::vector<double>& values, double limit) {
  return static_cast<double>(std::count_if(values.begin(), values.end(), [limit](double value) { return value < limit; })) /
         static_cast<double>(values.size());
}

}  // namespace weft::papers

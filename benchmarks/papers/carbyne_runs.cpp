#include "benchmarks/papers/carbyne_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

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

Workload drawn_queries(const std::string& path, std::uint32_t count, bool online, const ClusterModel& model) {
  simulator::workloads::Context meaning;
  meaning.machine = model.groups[0].capacity;
  meaning.seed = model.seed;
  Workload workload = bench::need(simulator::workloads::load(fmt::format("carbyne:{},sample={},gap=20s", path, count), meaning));
  if (!online) {
    for (JobSpec& one : workload.jobs) one.arrival = Time(0);
  }
  return workload;
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

#include "benchmarks/papers/shuffle_mix.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <string_view>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/measure.hpp"
#include "engine/simulator/workloads/generator.hpp"

namespace weft::papers {
namespace {

constexpr double kUplinkPerNode = 6.25e6;  // 50 Mbit/s
const std::map<std::string, std::string> kFirstComeFirstServed{{"pools", "[[pool]]\nname = \"default\"\npolicy = \"fifo\"\n"}};
const std::string kMixFile = std::string(WEFT_PUBLISHED) + "/../shufflewatcher.toml";

MixClass class_of(std::string_view job) {
  for (const char* name : {"terasort", "ranked-inverted-index", "self-join", "word-sequence-count", "adjacency-list"})
    if (job.starts_with(name)) return kHeavy;
  for (const char* name : {"inverted-index", "term-vector"})
    if (job.starts_with(name)) return kMedium;
  return kLight;
}

/// Other parts of the classes: jobs of each class in the order in which they come, at the arrivals of the workload.
Workload mixed(Workload from, const std::array<double, kMixClasses>& parts, std::uint32_t jobs, std::uint64_t seed) {
  std::array<std::deque<JobSpec>, kMixClasses> by_class;
  std::vector<Time> arrivals;
  std::vector<std::string> users;
  for (JobSpec& job : from.jobs) {
    arrivals.push_back(job.arrival);
    users.push_back(job.options.user);
    by_class[class_of(job.name)].push_back(std::move(job));
  }
  Random random(seed, 14);
  from.jobs.clear();
  for (std::uint32_t i = 0; i < jobs; ++i) {
    const double drawn = random.uniform();
    auto& source = by_class[drawn < parts[0] ? kHeavy : drawn < parts[0] + parts[1] ? kMedium : kLight];
    if (source.empty()) continue;
    JobSpec& job = from.jobs.emplace_back(std::move(source.front()));
    source.pop_front();
    job.arrival = arrivals[i];
    job.options.user = users[i];
  }
  return from;
}

Workload workload_of(const MixSetting& setting, std::uint64_t seed) {
  const std::uint32_t drawn = setting.parts ? 5 * setting.jobs : setting.jobs;
  std::string text = fmt::format("{},jobs={},users={},mean_gap={}s", kMixFile, drawn, setting.users, in_seconds(setting.gap));
  if (setting.scale) text += fmt::format(",input_scale={}", *setting.scale);
  Workload workload = bench::need(simulator::workloads::generate(text, seed));
  return setting.parts ? mixed(std::move(workload), *setting.parts, setting.jobs, seed) : workload;
}

ClusterModel model_of(const MixSetting& setting, std::uint64_t seed) {
  ClusterModel model = hadoop(setting.nodes, setting.racks, 2, 5, seed);
  model.network.nic = 31.25e6;
  model.network.uplink = kUplinkPerNode * setting.nodes / setting.racks;
  model.network.oversubscription = 0;
  model.network.disk_read = model.network.disk_write = 200e6;
  model.heartbeat = seconds(3);
  model.slow_start = 0.05;
  model.storage.concentration = setting.concentration;
  return model;
}

double crossed(const simulator::Sample& sample) {
  return std::accumulate(sample.traffic.begin(), sample.traffic.end(), 0.0,
                         [](double sum, const simulator::Traffic& kind) { return sum + kind.cross_rack; });
}

/// What is of time: samples of a minute each.
void follow(const RunResult& result, const MixSetting& setting, MixRun& run) {
  const double step = in_seconds(result.series.step), end = in_seconds(setting.gap) * setting.jobs;
  double sum = 0, squares = 0, count = 0, jobs = 0, tasks = 0, there = 0;
  for (std::size_t i = 0; i < result.series.samples.size(); ++i) {
    const simulator::Sample& sample = result.series.samples[i];
    const double minute = static_cast<double>(i + 1) * step, rate = crossed(sample) / step;
    run.rate_by_minute.emplace_back(minute / 60, rate * 8 / 1e9);
    run.tasks += static_cast<double>(sample.tasks_finished);
    if (minute < end / 6 || minute > end) continue;
    sum += rate;
    squares += rate * rate;
    jobs += static_cast<double>(sample.jobs_finished);
    tasks += static_cast<double>(sample.tasks_finished);
    there += sample.running_jobs;
    ++count;
  }
  count = std::max(count, 1.0);
  const double mean = sum / count;
  run.throughput = tasks / (count * step);
  run.jobs_per_hour = jobs / (count * step) * 3600;
  run.jobs_of_user = there / count / setting.users;
  run.uplinks_used = mean / (kUplinkPerNode * setting.nodes);
  run.variation = mean > 0 ? std::sqrt(std::max(0.0, squares / count - mean * mean)) / mean : 0;
}

MixRun measured(const MixSetting& setting, const std::string& scheduler, std::uint64_t seed) {
  const Workload workload = workload_of(setting, seed);
  RunOptions options;
  options.series_step = seconds(60);
  options.until = setting.gap * setting.jobs;
  const RunResult result = papers::run(workload, model_of(setting, seed), scheduler, options, kFirstComeFirstServed);
  MixRun run;
  for (const auto& job : result.jobs) {
    MixTraffic& traffic = run.by_class[class_of(job.name)];
    const auto& shuffle = job.traffic[static_cast<std::size_t>(simulator::TrafficKind::shuffle)];
    run.shuffle += shuffle.total;
    traffic.cross_shuffle += shuffle.cross_rack;
    traffic.cross_map_read += job.traffic[static_cast<std::size_t>(simulator::TrafficKind::map_read)].cross_rack;
    run.completion.push_back(job.completion_time() ? in_seconds(*job.completion_time()) : 0);
    run.turn_around += in_seconds(job.completion_time().value_or(std::max(Time(0), *options.until - job.submitted)));
  }
  run.turn_around /= static_cast<double>(result.jobs.size());
  follow(result, setting, run);
  return run;
}

}  // namespace

double MixRun::cross_shuffle() const {
  return std::accumulate(by_class.begin(), by_class.end(), 0.0,
                         [](double sum, const MixTraffic& one) { return sum + one.cross_shuffle; });
}

double MixRun::cross_map_read() const {
  return std::accumulate(by_class.begin(), by_class.end(), 0.0,
                         [](double sum, const MixTraffic& one) { return sum + one.cross_map_read; });
}

std::vector<double> MixRun::factors_over(const MixRun& other) const {
  std::vector<double> factors;
  for (std::size_t i = 0; i < completion.size(); ++i)
    if (completion[i] > 0 && other.completion[i] > 0) factors.push_back(other.completion[i] / completion[i]);
  std::sort(factors.begin(), factors.end());
  return factors;
}

double MixRun::improved_over(const MixRun& other) const {
  const std::vector<double> factors = factors_over(other);
  return static_cast<double>(std::ranges::count_if(factors, [](double factor) { return factor >= 0.999; })) /
         static_cast<double>(factors.size());
}

MixRun MixRuns::get(const MixSetting& setting, const std::string& scheduler, std::uint64_t seed) {
  const std::tuple key(setting, scheduler, seed);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = runs_.find(key); found != runs_.end()) return found->second;
  }
  MixRun run = measured(setting, scheduler, seed);
  const std::lock_guard lock(mutex_);
  return runs_.emplace(key, std::move(run)).first->second;
}

}  // namespace weft::papers

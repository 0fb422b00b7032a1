#include "engine/master/profiles/stage_history.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace weft::profiles {

namespace {

constexpr double kKept = 0.5;             // of the weight of earlier runs, with each run
constexpr double kMemoryKept = 0.9;       // of the largest memory
constexpr double kForgotten = 0.02;       // tasks: a class of fewer is dropped
constexpr std::size_t kMostClasses = 8;   // of sizes; beyond that the lightest are dropped
constexpr std::size_t kMostKinds = 8;     // of nodes
constexpr std::size_t kMostBuckets = 24;  // of a histogram
constexpr double kConstant = 0.01;        // seconds: assumed launch overhead of a task where it was not measured
constexpr double kSpread = 0.15;          // of sizes, over their mean: the slope of sizes that differ more than that is trusted

int size_of(double bytes) { return bytes < 1 ? -1 : static_cast<int>(std::floor(std::log2(bytes))); }
double middle_of(int size) { return size < 0 ? -1 : size + 0.5; }

template <class Items, class Weight>
void keep_heaviest(Items& items, std::size_t most, Weight weight) {
  while (items.size() > most)
    items.erase(std::min_element(items.begin(), items.end(), [&](const auto& a, const auto& b) { return weight(a) < weight(b); }));
}

void add_task(SizeClass& sums, const TaskSample& task) {
  const double seconds = in_seconds(task.duration);
  sums.weight += 1;
  sums.seconds += seconds;
  sums.seconds2 += seconds * seconds;
  sums.bytes += task.bytes;
  sums.bytes2 += task.bytes * task.bytes;
  sums.bytes_seconds += task.bytes * seconds;
  sums.written += task.written;
  sums.cpu += in_seconds(task.cpu);
  sums.read += in_seconds(task.read);
  sums.shuffle += in_seconds(task.shuffle);
  sums.write += in_seconds(task.write);
  sums.alone += task.alone ? in_seconds(*task.alone) : std::max(0.0, seconds - in_seconds(task.shuffle));
  sums.disk += task.disk_written.value_or(task.written);
  sums.memory = std::max(sums.memory, task.memory);
  sums.overhead += task.run > Duration(0) ? std::max(0.0, seconds - in_seconds(task.run)) : std::min(kConstant, seconds / 2);
  sums.histogram[static_cast<int>(std::lround(2 * std::log2(std::max(seconds, 1e-6))))] += 1;
  keep_heaviest(sums.histogram, kMostBuckets, [](const auto& bucket) { return bucket.second; });
}

void forget_part(SizeClass& sums) {
  for (double SizeClass::*sum :
       {&SizeClass::weight, &SizeClass::seconds, &SizeClass::seconds2, &SizeClass::bytes, &SizeClass::bytes2,
        &SizeClass::bytes_seconds, &SizeClass::written, &SizeClass::cpu, &SizeClass::read, &SizeClass::shuffle, &SizeClass::write,
        &SizeClass::overhead, &SizeClass::alone, &SizeClass::disk})
    sums.*sum *= kKept;
  sums.memory *= kMemoryKept;
  for (auto& [bucket, weight] : sums.histogram) weight *= kKept;
}

void forget_part(Relative& part) {
  part.weight *= kKept;
  part.sum *= kKept;
}

/// Seconds more for each byte more, over all sizes.
double slope_of(const std::vector<SizeClass>& classes) {
  SizeClass all;
  for (const SizeClass& one : classes) {
    all.weight += one.weight;
    all.seconds += one.seconds;
    all.bytes += one.bytes;
    all.bytes2 += one.bytes2;
    all.bytes_seconds += one.bytes_seconds;
    all.overhead += one.overhead;
  }
  if (all.bytes <= 0 || all.weight <= 0) return 0;
  const double bytes = all.bytes / all.weight, seconds = all.seconds / all.weight;
  const double variance = std::max(0.0, all.bytes2 / all.weight - bytes * bytes);
  const double covariance = all.bytes_seconds / all.weight - bytes * seconds;
  const double believed = (seconds - std::min(all.overhead / all.weight, seconds)) / bytes;
  const double trust = std::pow(kSpread * bytes, 2);
  return std::clamp((covariance + trust * believed) / (variance + trust), 0.0, seconds / bytes);
}

/// The use of a task while it maps or reduces, and while it fetches: its work over the time that it would take alone on its node.
/// Over the time that it really took, tasks that wait for each other would seem to need little.
void add_use(const SizeClass& sums, bool reads_shuffle, schedulers::StageProfile& profile) {
  const auto rate = [](double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; };
  profile.use.cpu = rate(sums.cpu, sums.alone);
  profile.use.memory = sums.memory;
  if (!reads_shuffle) profile.use.disk_read = rate(sums.bytes, sums.alone);
  profile.use.disk_write = rate(sums.disk, sums.alone);
  if (!reads_shuffle) return;
  profile.shuffle_use.memory = sums.memory;
  profile.shuffle_use.network_in = rate(sums.bytes, sums.shuffle);
}

}  // namespace

double StageHistory::tasks() const {
  double sum = 0;
  for (const SizeClass& one : classes) sum += one.weight;
  return sum;
}

double StageHistory::mean_error() const {
  const bool more = truth > 0 && predicted > 0;
  const double weight = error_weight + (more ? 1 : 0);
  return weight > 0 ? (error * error_weight + (more ? std::abs(predicted - truth) / truth : 0)) / weight : 0;
}

void StageHistory::begin_run(JobId job) {
  if (runs > 0) {
    for (SizeClass& one : classes) forget_part(one);
    std::erase_if(classes, [](const SizeClass& one) { return one.weight < kForgotten; });
    for (auto& [kind, relative] : kinds) forget_part(relative);
    forget_part(local);
    forget_part(remote);
  }
  error = mean_error();
  error_weight = kKept * (error_weight + (truth > 0 && predicted > 0 ? 1 : 0));
  predicted = truth = 0;
  run = job;
  ++runs;
}

SizeClass& StageHistory::class_of(double bytes) {
  const int size = size_of(bytes);
  auto at = std::lower_bound(classes.begin(), classes.end(), size, [](const SizeClass& one, int of) { return one.size < of; });
  if (at != classes.end() && at->size == size) return *at;
  SizeClass made;
  made.size = size;
  return *classes.insert(at, made);
}

void StageHistory::add(JobId job, const TaskSample& task, std::optional<Duration> prediction) {
  if (runs == 0 || job > run) begin_run(job);
  if (const auto usual = profile(task.bytes)) {
    const double relative = in_seconds(task.duration) / in_seconds(usual->duration());
    const auto note = [relative](Relative& of) {
      of.weight += 1;
      of.sum += std::min(relative, 100.0);
    };
    note(kinds[task.kind]);
    keep_heaviest(kinds, kMostKinds, [](const auto& kind) { return kind.second.weight; });
    if (task.placed) note(task.local ? local : remote);
  }
  SizeClass& sums = class_of(task.bytes);
  add_task(sums, task);
  keep_heaviest(classes, kMostClasses, [](const SizeClass& one) { return one.weight; });
  if (!prediction) return;
  predicted += in_seconds(*prediction);
  truth += in_seconds(task.duration);
}

/// The weight of a class for tasks of a size: that of its tasks, divided by four for each power of two between the sizes.
double StageHistory::says(const SizeClass& one, double bytes) {
  const double at = bytes < 1 ? -1 : std::log2(bytes);
  return one.weight * std::exp2(-2 * std::abs(middle_of(one.size) - at));
}

const SizeClass* StageHistory::nearest(double bytes) const {
  const SizeClass* best = nullptr;
  for (const SizeClass& one : classes)
    if (best == nullptr || says(one, bytes) > says(*best, bytes)) best = &one;
  return best;
}

std::optional<schedulers::StageProfile> StageHistory::profile(double bytes) const {
  const SizeClass* sums = nearest(bytes);
  if (sums == nullptr || sums->weight <= 0) return std::nullopt;
  const double mean = sums->seconds / sums->weight, slope = slope_of(classes);
  double constant = 0, weight = 0;
  for (const SizeClass& one : classes) {
    const double says_so = std::max(says(one, bytes), 1e-300);
    constant += says_so * (one.seconds - slope * one.bytes) / one.weight;
    weight += says_so;
  }
  schedulers::StageProfile made;
  made.bytes = bytes;
  made.per_byte = slope * 1e9;
  made.constant = schedulers::Time(std::llround(constant / weight * 1e9));
  made.deviation = mean > 0 ? std::sqrt(std::max(0.0, sums->seconds2 / sums->weight - mean * mean)) / mean : 0;
  made.error = mean_error();
  made.tasks = tasks();
  made.output_ratio = sums->bytes > 0 ? sums->written / sums->bytes : 0;
  add_use(*sums, is.reads_shuffle, made);
  const double near = local.value();
  made.remote = remote.weight > 0 && near > 0 ? remote.value() / near : 1;
  const bool apart = kinds.size() > 1 || (kinds.size() == 1 && !kinds.begin()->first.empty());
  if (apart) {
    for (const auto& [kind, relative] : kinds) made.kinds[kind] = relative.value();
  }
  return made;
}

double StageHistory::written(double bytes) const {
  const SizeClass* sums = nearest(bytes);
  if (sums == nullptr || sums->weight <= 0) return 0;
  return sums->bytes > 0 ? bytes * sums->written / sums->bytes : sums->written / sums->weight;
}

std::optional<Duration> StageHistory::quantile(double part) const {
  std::map<int, double> all;
  double sum = 0;
  for (const SizeClass& one : classes) {
    for (const auto& [bucket, weight] : one.histogram) {
      all[bucket] += weight;
      sum += weight;
    }
  }
  double before = 0;
  for (const auto& [bucket, weight] : all) {
    before += weight;
    if (before >= part * sum) return Duration(std::llround(std::exp2(bucket / 2.0) * 1e9));
  }
  return std::nullopt;
}

}  // namespace weft::profiles

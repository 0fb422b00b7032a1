#include "engine/simulator/report/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/clock.hpp"

namespace weft::simulator::report {

namespace {

using Value = std::optional<double>;
using Alone = std::vector<Time>;

constexpr double kMean = -1;  // instead of a part

/// The mean, or the quantile at `part`; nothing without values.
Value summarised(std::vector<double> values, double part) {
  if (values.empty()) return std::nullopt;
  return part == kMean ? estimate(values).mean : quantile(values, part);
}

/// Summarises one figure of each job.
using OfJobs = std::vector<double> (*)(const RunResult&, const Alone&);
Metric over_jobs(const char* key, const char* title, Format format, OfJobs figures, double part) {
  return {key, title, format, Better::lower,
          [figures, part](const RunResult& run, const Alone& alone) { return summarised(figures(run, alone), part); }};
}

/// A figure of the whole run. `value` returns a number, or nothing where it makes no sense.
template <class OfRun>
Metric of_run(std::string key, std::string title, Format format, Better better, OfRun value) {
  return {std::move(key), std::move(title), format, better,
          [value](const RunResult& run, const Alone&) -> Value { return value(run); }};
}

Value ratio(double part, double whole) {
  if (whole <= 0) return std::nullopt;
  return part / whole;
}

void add_times(std::vector<Metric>& all) {
  const OfJobs times = [](const RunResult& run, const Alone&) { return completion_seconds(run); };
  const auto completion = [&](const char* key, const char* title, double part) {
    all.push_back(over_jobs(key, title, Format::seconds, times, part));
  };
  completion("completion_mean", "completion time, mean", kMean);
  completion("completion_p50", "completion time, p50", .5);
  completion("completion_p90", "completion time, p90", .9);
  completion("completion_p95", "completion time, p95", .95);
  completion("completion_p99", "completion time, p99", .99);
  completion("completion_max", "completion time, max", 1);
  all.push_back(over_jobs("slowdown_mean", "slowdown, mean", Format::number, slowdowns, kMean));
  all.push_back(over_jobs("slowdown_p95", "slowdown, p95", Format::number, slowdowns, .95));
  all.push_back(of_run("makespan", "makespan", Format::seconds, Better::lower,
                       [](const RunResult& run) { return in_seconds(run.makespan); }));
  all.push_back(of_run("jobs_per_hour", "jobs per hour", Format::number, Better::higher, [](const RunResult& run) {
    return ratio(3600 * static_cast<double>(completion_seconds(run).size()), in_seconds(run.makespan));
  }));
}

/// Speed-ups of single jobs against the first scheduler.
void add_factors(std::vector<Metric>& all) {
  const auto factor = [&all](const char* key, const char* title, double part) {
    all.push_back({key, title, Format::number, Better::higher, nullptr,
                   [part](const RunResult& run, const RunResult& first) { return summarised(factors(run, first), part); }});
  };
  factor("factor_mean", "speed-up of a job, mean", kMean);
  factor("factor_min", "speed-up of a job, least", 0);
  factor("factor_p50", "speed-up of a job, p50", .5);
  factor("factor_p75", "speed-up of a job, p75", .75);
  factor("factor_p95", "speed-up of a job, p95", .95);
  all.push_back({"jobs_not_slower", "jobs not slower", Format::percent, Better::higher, nullptr,
                 [](const RunResult& run, const RunResult& first) {
                   const auto values = factors(run, first);
                   const auto not_slower = std::count_if(values.begin(), values.end(), [](double value) { return value >= 1; });
                   return ratio(static_cast<double>(not_slower), static_cast<double>(values.size()));
                 }});
}

/// Seconds from the deadline to the end of each job that ended after it, or of those that did not the other way round.
template <bool kLate>
std::vector<double> lateness_seconds(const RunResult& run, const Alone&) {
  std::vector<double> values;
  for (const JobResult& job : run.jobs) {
    const auto late = job.lateness();
    if (late && (*late > Time(0)) == kLate) values.push_back(std::abs(in_seconds(*late)));
  }
  return values;
}

std::vector<double> lateness_parts(const RunResult& run, const Alone&) {
  std::vector<double> values;
  for (const JobResult& job : run.jobs) {
    if (const auto late = job.lateness(); late && *late > Time(0))
      values.push_back(in_seconds(*late) / in_seconds(*job.completion_time()));
  }
  return values;
}

void add_deadlines(std::vector<Metric>& all) {
  all.push_back(of_run("deadlines_missed", "deadlines missed", Format::percent, Better::lower, [](const RunResult& run) {
    const auto with = std::ranges::count_if(run.jobs, [](const JobResult& job) { return job.deadline.has_value(); });
    const auto missed = std::ranges::count_if(run.jobs, &JobResult::missed_deadline);
    return ratio(static_cast<double>(missed), static_cast<double>(with));
  }));
  all.push_back(over_jobs("lateness_mean", "  of these late by, mean", Format::seconds, lateness_seconds<true>, kMean));
  all.push_back(over_jobs("lateness_max", "  late by, max", Format::seconds, lateness_seconds<true>, 1));
  all.push_back(over_jobs("lateness_part", "  late by, part of their time, mean", Format::percent, lateness_parts, kMean));
  Metric spare = over_jobs("spare_mean", "deadlines met with time left, mean", Format::seconds, lateness_seconds<false>, kMean);
  spare.better = Better::neither;
  all.push_back(std::move(spare));
}

void add_jobs(std::vector<Metric>& all) {
  all.push_back(of_run("jobs_not_finished", "jobs not finished", Format::count, Better::lower,
                       [](const RunResult& run) { return static_cast<double>(run.jobs.size() - completion_seconds(run).size()); }));
  add_deadlines(all);
  const auto jain = [&all](const char* key, const char* title, std::vector<double> Fairness::*windows, double Fairness::*mean) {
    all.push_back(of_run(key, title, Format::number, Better::higher, [windows, mean](const RunResult& run) {
      return (run.fairness.*windows).empty() ? std::nullopt : Value(run.fairness.*mean);
    }));
  };
  jain("jain_jobs", "Jain index over jobs", &Fairness::jobs, &Fairness::mean_jobs);
  jain("jain_users", "Jain index over users", &Fairness::users, &Fairness::mean_users);
  jain("jain_fair_shares", "Jain index of fair shares", &Fairness::fair_shares, &Fairness::mean_fair_shares);
}

void add_traffic(std::vector<Metric>& all) {
  const auto bytes = [&all](const char* key, const char* title, double Traffic::*amount) {
    all.push_back(of_run(key, title, Format::bytes, Better::lower, [amount](const RunResult& run) {
      double sum = 0;
      for (const Traffic& traffic : run.traffic) sum += traffic.*amount;
      return sum;
    }));
  };
  bytes("remote_bytes", "bytes between nodes", &Traffic::remote);
  bytes("cross_rack_bytes", "bytes between racks", &Traffic::cross_rack);
  constexpr std::array<const char*, kTrafficKinds> kKeys{"cross_rack_map_read", "cross_rack_shuffle", "cross_rack_output"};
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    all.push_back(of_run(kKeys[kind], fmt::format("  of these {}", kTrafficNames[kind]), Format::bytes, Better::lower,
                         [kind](const RunResult& run) { return run.traffic[kind].cross_rack; }));
  }
  const auto prefetched = [&all](const char* key, const char* title, std::uint64_t shuffle::PrefetchStats::*amount) {
    all.push_back(of_run(key, title, Format::bytes, Better::neither, [amount](const RunResult& run) {
      return run.prefetched.prefetched_bytes == 0 ? std::nullopt : Value(static_cast<double>(run.prefetched.*amount));
    }));
  };
  prefetched("prefetched_bytes", "bytes prefetched", &shuffle::PrefetchStats::prefetched_bytes);
  prefetched("prefetch_wasted_bytes", "  of these never read", &shuffle::PrefetchStats::wasted_bytes);
  prefetched("prefetch_evicted_bytes", "  of these evicted to disk", &shuffle::PrefetchStats::evicted_bytes);
  const auto locality = [&all](const char* key, const char* title, std::uint64_t LocalityCounts::*counted, Better better) {
    all.push_back(of_run(key, title, Format::percent, better, [counted](const RunResult& run) {
      return ratio(static_cast<double>(run.locality.*counted), static_cast<double>(run.locality.all()));
    }));
  };
  locality("node_local", "attempts with input on the node", &LocalityCounts::node, Better::higher);
  locality("rack_local", "attempts with input in the rack", &LocalityCounts::rack, Better::neither);
}

void add_use(std::vector<Metric>& all) {
  for (const auto& kind : schedulers::kResourceKinds) {
    all.push_back(of_run(fmt::format("utilisation_{}", kind.name), fmt::format("utilisation, {}", kind.name), Format::percent,
                         Better::higher, [amount = kind.amount](const RunResult& run) {
                           return run.utilisation.*amount <= 0 ? std::nullopt : Value(run.utilisation.*amount);
                         }));
  }
  const auto share = [&all](const char* key, const char* title, Time Work::*part) {
    all.push_back(of_run(key, title, Format::percent, Better::lower,
                         [part](const RunResult& run) { return ratio(in_seconds(run.work.*part), in_seconds(run.work.all())); }));
  };
  share("preempted_work", "work preempted", &Work::preempted);
  share("lost_work", "work lost", &Work::lost);
  share("redundant_work", "work done twice", &Work::redundant);
  const auto count = [&all](const char* key, const char* title, std::uint64_t RunResult::*counted) {
    all.push_back(of_run(key, title, Format::count, Better::lower,
                         [counted](const RunResult& run) { return static_cast<double>(run.*counted); }));
  };
  count("preemptions", "attempts preempted", &RunResult::preemptions);
  count("failed_attempts", "attempts failed", &RunResult::failed_attempts);
  count("speculative", "speculative attempts", &RunResult::speculative);
  count("node_deaths", "node deaths", &RunResult::node_deaths);
  count("refused_decisions", "decisions refused", &RunResult::refused_decisions);
}

void add_cost(std::vector<Metric>& all) {
  all.push_back(
      of_run("launches_per_second", "launches per second of scheduling", Format::number, Better::higher,
             [](const RunResult& run) { return ratio(static_cast<double>(run.launches), in_seconds(run.scheduler_time)); }));
  all.push_back(of_run("decision_seconds", "time of a scheduler call", Format::seconds, Better::lower, [](const RunResult& run) {
    return ratio(in_seconds(run.scheduler_time), static_cast<double>(run.scheduler_calls));
  }));
  all.push_back(of_run("wall_seconds", "real time of the simulation", Format::seconds, Better::neither,
                       [](const RunResult& run) { return in_seconds(run.wall_time); }));
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  constexpr std::array<std::string_view, 4> kNames{"finished", "failed", "refused", "unfinished"};
  return kNames[static_cast<std::size_t>(outcome)];
}

const std::vector<Metric>& metrics() {
  static const std::vector<Metric> all = [] {
    std::vector<Metric> list;
    add_times(list);
    add_factors(list);
    add_jobs(list);
    add_traffic(list);
    add_use(list);
    add_cost(list);
    return list;
  }();
  return all;
}

std::string format_value(double value, Format format) {
  constexpr double kShownSeconds = 5e-10;  // less is no time
  constexpr std::array<std::string_view, 6> kBytes{"B", "kB", "MB", "GB", "TB", "PB"};
  const auto digits = [](double number) {  // three digits, but no exponent for large numbers
    return std::abs(number) >= 1000 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
  };
  switch (format) {
    case Format::seconds:
      if (value > 0 && value < 1e-6) return value < kShownSeconds ? "0 s" : digits(value * 1e9) + " ns";
      if (value > 0 && value < 1e-3) return digits(value * 1e6) + " µs";
      if (value > 0 && value < 1) return digits(value * 1e3) + " ms";
      return (value >= 100 ? fmt::format("{:.1f}", value) : digits(value)) + " s";
    case Format::percent:
      return fmt::format("{:.1f} %", value * 100);
    case Format::bytes: {
      std::size_t unit = 0;
      for (; std::abs(value) >= 1000 && unit + 1 < kBytes.size(); ++unit) value /= 1000;
      return digits(value) + " " + std::string(kBytes[unit]);
    }
    case Format::count:
      return std::trunc(value) == value ? fmt::format("{:.0f}", value) : digits(value);
    case Format::number:
      break;
  }
  return digits(value);
}

std::string format_estimate(const Estimate& estimate, Format format) {
  const std::string text = format_value(estimate.mean, format);
  return estimate.half_width > 0 ? text + " ± " + format_value(estimate.half_width, format) : text;
}

std::optional<double> value_of(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs, std::size_t seed) {
  static const Alone kNone;
  if (!metric.against_first) return metric.value(runs.runs[seed], seed < comparison.alone.size() ? comparison.alone[seed] : kNone);
  const SchedulerRuns& first = comparison.schedulers.front();
  if (&runs == &first || seed >= first.runs.size()) return std::nullopt;
  return metric.against_first(runs.runs[seed], first.runs[seed]);
}

std::optional<Estimate> estimate_of(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs) {
  std::vector<double> values;
  for (std::size_t seed = 0; seed < runs.runs.size(); ++seed) {
    if (const auto value = value_of(metric, comparison, runs, seed)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return estimate(values);
}

std::optional<Paired> paired_with_first(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs) {
  const SchedulerRuns& first = comparison.schedulers.front();
  if (&runs == &first) return std::nullopt;
  std::vector<double> differences, ratios;
  for (std::size_t seed = 0; seed < std::min(runs.runs.size(), first.runs.size()); ++seed) {
    const auto value = value_of(metric, comparison, runs, seed);
    const auto base = value_of(metric, comparison, first, seed);
    if (!value || !base) continue;
    differences.push_back(*value - *base);
    if (*base != 0) ratios.push_back(*value / *base);
  }
  if (differences.empty()) return std::nullopt;
  Paired paired{estimate(differences), std::nullopt};
  if (ratios.size() == differences.size()) paired.ratio = estimate(ratios);
  return paired;
}

std::optional<ComparedFigure> compared_with_first(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs) {
  const auto value = estimate_of(metric, comparison, runs);
  if (!value) return std::nullopt;
  return ComparedFigure{*value, paired_with_first(metric, comparison, runs)};
}

std::string relative(const std::optional<Paired>& paired) {
  constexpr double kNegligible = 0.0005;
  if (!paired || !paired->ratio) return "";
  const Estimate& ratio = *paired->ratio;
  if (std::abs(ratio.mean - 1) < kNegligible && ratio.half_width < kNegligible) return "";
  const double percent = 100 * (ratio.mean - 1);
  if (ratio.half_width == 0 && paired->difference.half_width == 0) return fmt::format("{:+.1f} %", percent);
  return fmt::format("{:+.1f} ± {:.1f} %", percent, 100 * ratio.half_width);
}

bool varies(const Comparison& comparison) {
  for (const SchedulerRuns& runs : comparison.schedulers) {
    const RunResult& first = runs.runs.front();
    for (const RunResult& run : runs.runs)
      if (run.event_digest != first.event_digest || run.makespan != first.makespan) return true;
  }
  return false;
}

std::vector<double> factors(const RunResult& run, const RunResult& first) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(run.jobs.size(), first.jobs.size()); ++i) {
    const auto before = first.jobs[i].completion_time(), now = run.jobs[i].completion_time();
    if (before && now && *now > Time{0} && *before > Time{0}) result.push_back(in_seconds(*before) / in_seconds(*now));
  }
  return result;
}

std::vector<double> completion_seconds(const RunResult& run) {
  std::vector<double> times;
  for (const JobResult& job : run.jobs) {
    if (const auto time = job.completion_time()) times.push_back(in_seconds(*time));
  }
  return times;
}

std::vector<double> slowdowns(const RunResult& run, const std::vector<Time>& alone) {
  std::vector<double> values;
  for (const JobResult& job : run.jobs) {
    const auto time = job.completion_time();
    if (time && job.index < alone.size() && alone[job.index] > Time{0})
      values.push_back(in_seconds(*time) / in_seconds(alone[job.index]));
  }
  return values;
}

}  // namespace weft::simulator::report

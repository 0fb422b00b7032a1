#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"

namespace weft::simulator::report {

namespace {

/// One table in the form of RFC 4180, except that lines end with a line feed only.
class CsvTable {
 public:
  explicit CsvTable(std::string_view heading) : text_(std::string(heading) + "\n") {}

  CsvTable& cell(std::string_view text) {
    separate();
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
      text_ += text;
      return *this;
    }
    text_ += '"';
    for (const char c : text) text_.append(c == '"' ? 2 : 1, c);
    text_ += '"';
    return *this;
  }
  template <class Number>
  requires std::is_arithmetic_v<Number> CsvTable& cell(Number number) {
    separate();
    fmt::format_to(std::back_inserter(text_), "{}", number);
    return *this;
  }
  CsvTable& cell(Time time) { return cell(in_seconds(time)); }
  template <class T>
  CsvTable& cell(const std::optional<T>& value) {
    return value ? cell(*value) : cell(std::string_view());
  }
  CsvTable& cell(const std::optional<Estimate>& value) {
    return value ? cell(value->mean).cell(value->half_width) : cell(std::string_view()).cell(std::string_view());
  }
  /// Two cells for each kind.
  CsvTable& cell(const TrafficByKind& traffic) {
    for (const Traffic& kind : traffic) cell(kind.remote).cell(kind.cross_rack);
    return *this;
  }
  void end_row() {
    text_ += '\n';
    first_ = true;
  }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!std::exchange(first_, false)) text_ += ',';
  }
  std::string text_;
  bool first_ = true;
};

/// Calls `row(table, runs, seed)` for each run of each scheduler.
template <class Rows>
std::string of_runs(std::string_view heading, const Comparison& comparison, Rows rows) {
  CsvTable table(heading);
  for (const SchedulerRuns& runs : comparison.schedulers) {
    for (std::size_t seed = 0; seed < runs.runs.size(); ++seed) rows(table, runs, seed);
  }
  return table.take();
}

CsvTable& begin_row(CsvTable& table, const SchedulerRuns& runs, std::size_t seed) {
  return table.cell(runs.scheduler).cell(runs.runs[seed].seed);
}

std::string summary_table(const Comparison& comparison) {
  CsvTable table("scheduler,metric,mean,half_width,runs,difference,difference_half_width,ratio,ratio_half_width");
  for (const SchedulerRuns& runs : comparison.schedulers) {
    for (const Metric& metric : metrics()) {
      const auto figure = compared_with_first(metric, comparison, runs);
      if (!figure) continue;
      const auto& paired = figure->paired;
      table.cell(runs.scheduler).cell(metric.key).cell(std::optional(figure->value)).cell(figure->value.runs);
      table.cell(paired ? std::optional(paired->difference) : std::nullopt).cell(paired ? paired->ratio : std::nullopt).end_row();
    }
  }
  return table.take();
}

std::string jobs_table(const Comparison& comparison) {
  const auto rows = [&](CsvTable& table, const SchedulerRuns& runs, std::size_t seed) {
    for (const JobResult& job : runs.runs[seed].jobs) {
      const bool known = seed < comparison.alone.size() && job.index < comparison.alone[seed].size();
      begin_row(table, runs, seed).cell(job.index).cell(job.name).cell(job.user).cell(job.pool).cell(name_of(job.outcome));
      table.cell(job.submitted).cell(job.started).cell(job.ended).cell(job.completion_time());
      table.cell(known ? std::optional(comparison.alone[seed][job.index]) : std::nullopt);
      table.cell(job.deadline).cell(job.lateness()).cell(job.tasks).cell(job.attempts).cell(job.failed_attempts);
      table.cell(job.preemptions).cell(job.speculative).cell(job.input_bytes).cell(job.shuffle_bytes).cell(job.output_bytes);
      table.cell(job.traffic).end_row();
    }
  };
  return of_runs(
      "scheduler,seed,index,name,user,pool,outcome,submitted,started,ended,completion,alone,deadline,lateness,tasks,attempts,"
      "failed_attempts,preemptions,speculative_attempts,input_bytes,shuffle_bytes,output_bytes,map_read_remote,map_read_cross_rack,"
      "shuffle_remote,shuffle_cross_rack,output_remote,output_cross_rack",
      comparison, rows);
}

/// Calls `row(sample, time)` for each sample of a run's series.
template <class Row>
void of_samples(const Series& series, Row row) {
  for (std::size_t i = 0; i < series.samples.size(); ++i) row(series.samples[i], static_cast<std::int64_t>(i) * series.step);
}

std::string series_table(const Comparison& comparison) {
  const auto rows = [](CsvTable& table, const SchedulerRuns& runs, std::size_t seed) {
    of_samples(runs.runs[seed].series, [&](const Sample& sample, Time time) {
      begin_row(table, runs, seed).cell(time).cell(sample.used.cpu).cell(sample.capacity.cpu).cell(sample.running_tasks);
      table.cell(sample.pending_tasks).cell(sample.running_jobs).cell(sample.tasks_finished).cell(sample.jobs_finished);
      table.cell(sample.traffic).end_row();
    });
  };
  return of_runs(
      "scheduler,seed,time,cpu_used,cpu_capacity,running_tasks,pending_tasks,running_jobs,tasks_finished,jobs_finished,map_read_"
      "remote,"
      "map_read_cross_rack,shuffle_remote,shuffle_cross_rack,output_remote,output_cross_rack",
      comparison, rows);
}

std::string racks_table(const Comparison& comparison) {
  const auto rows = [](CsvTable& table, const SchedulerRuns& runs, std::size_t seed) {
    of_samples(runs.runs[seed].series, [&](const Sample& sample, Time time) {
      for (std::size_t rack = 0; rack < sample.racks.size(); ++rack)
        begin_row(table, runs, seed).cell(time).cell(rack).cell(sample.racks[rack].up).cell(sample.racks[rack].down).end_row();
    });
  };
  return of_runs("scheduler,seed,time,rack,up_bytes,down_bytes", comparison, rows);
}

std::string fairness_table(const Comparison& comparison) {
  const auto rows = [](CsvTable& table, const SchedulerRuns& runs, std::size_t seed) {
    const Fairness& fairness = runs.runs[seed].fairness;
    for (std::size_t i = 0; i < std::min({fairness.jobs.size(), fairness.users.size(), fairness.fair_shares.size()}); ++i) {
      const Time from = static_cast<std::int64_t>(i) * fairness.window;
      begin_row(table, runs, seed).cell(from).cell(fairness.jobs[i]).cell(fairness.users[i]);
      table.cell(fairness.fair_shares[i]).end_row();
    }
  };
  return of_runs("scheduler,seed,time,jain_jobs,jain_users,jain_fair_shares", comparison, rows);
}

}  // namespace

std::map<std::string, std::string> to_csv(const Comparison& comparison) {
  return {{"fairness.csv", fairness_table(comparison)},
          {"jobs.csv", jobs_table(comparison)},
          {"racks.csv", racks_table(comparison)},
          {"series.csv", series_table(comparison)},
          {"summary.csv", summary_table(comparison)}};
}

}  // namespace weft::simulator::report

#include <utility>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"

namespace weft::simulator::report {

namespace {

std::string_view how_it_ended(Outcome outcome) {
  return outcome == Outcome::unfinished ? "not finished when the run ended" : name_of(outcome);
}

}  // namespace

Rows summary_rows(const Comparison& comparison) {
  Rows rows;
  auto& heading = rows.emplace_back();
  heading.emplace_back("");
  for (const auto& runs : comparison.schedulers) heading.push_back(runs.scheduler);
  for (const Metric& metric : metrics()) {
    std::vector<std::string> row{metric.title};
    bool any = false;
    for (const auto& runs : comparison.schedulers) {
      const auto figure = compared_with_first(metric, comparison, runs);
      std::string& text = row.emplace_back(figure ? format_estimate(figure->value, metric.format) : "-");
      if (!figure) continue;
      any = any || figure->value.mean != 0;
      if (const std::string part = relative(figure->paired); !part.empty()) text += " (" + part + ")";
    }
    if (any || metric.key == "jobs_not_finished") rows.push_back(std::move(row));
  }
  return rows;
}

Rows deadline_rows(const Comparison& comparison) {
  Rows rows{{"JOB", "DEADLINE"}};
  std::vector<std::string> last{"met", ""};
  for (const auto& runs : comparison.schedulers) {
    rows[0].push_back(runs.scheduler);
    std::size_t met = 0, all = 0, row = 1;
    for (const JobResult& job : runs.runs.front().jobs) {
      if (!job.deadline) continue;
      if (rows.size() == row) rows.push_back({job.name, format_value(in_seconds(*job.deadline - job.submitted), Format::seconds)});
      const auto late = job.lateness();
      rows[row++].push_back(!late             ? std::string(how_it_ended(job.outcome))
                            : *late > Time(0) ? "late by " + format_value(in_seconds(*late), Format::seconds)
                                              : "met, " + format_value(in_seconds(-*late), Format::seconds) + " to spare");
      met += job.missed_deadline() ? 0 : 1;
      ++all;
    }
    last.push_back(fmt::format("{} of {}", met, all));
  }
  if (rows.size() > 1) rows.push_back(std::move(last));
  return rows;
}

Rows replay_rows(const Replay& replay) {
  Rows rows{{"JOB", "RECORDED", "SIMULATED", "ERROR"}};
  const auto add = [&rows](const std::string& name, double recorded, double simulated) {
    const double error = recorded > 0 ? simulated / recorded - 1 : 0;
    rows.push_back({name, format_value(recorded, Format::seconds), format_value(simulated, Format::seconds),
                    fmt::format("{:+.1f} %", 100 * error)});
  };
  for (const ReplayedJob& job : replay.jobs) add(job.name, job.recorded_seconds, job.simulated_seconds);
  add("makespan", replay.recorded_makespan, replay.simulated_makespan);
  return rows;
}

std::string launches_text(const Replay& replay) {
  return fmt::format("launches as in the log: {} of {}", replay.launches_alike, replay.launches);
}

std::vector<std::string> failures(const Comparison& comparison, std::size_t most) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const auto& runs : comparison.schedulers) {
    if (runs.runs.empty()) continue;
    for (const JobResult& job : runs.runs.front().jobs) {
      if (job.outcome == Outcome::finished) continue;
      if (lines.size() == most) {
        ++more;
        continue;
      }
      lines.push_back(fmt::format("{}: job {} {}{}{}", runs.scheduler, job.name, how_it_ended(job.outcome),
                                  job.error.empty() ? "" : ": ", job.error));
    }
  }
  if (more > 0) lines.push_back(fmt::format("and {} more", more));
  return lines;
}

}  // namespace weft::simulator::report

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "engine/simulator/report/html_page.hpp"
#include "engine/simulator/report/html_users.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"
#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

namespace {

constexpr std::size_t kMostJobsDrawn = 150, kMostFailures = 50, kMostReplayed = 200, kMostRacksDrawn = 12;

std::string colour(std::size_t series) { return fmt::format("var(--c{})", series % 8); }

std::string head(const Comparison& comparison) {
  std::string html = "<h1>weft simulate</h1><table class='facts'>";
  for (const auto& [label, value] : comparison.facts)
    html += fmt::format("<tr><td>{}</td><td>{}</td></tr>", html_escaped(label), html_escaped(value));
  html += "</table>\n<div id='legend'>";
  for (std::size_t i = 0; i < comparison.schedulers.size(); ++i) {
    html += fmt::format("<label><i style='border-color:{}'></i>{}</label>", colour(i),
                        html_escaped(comparison.schedulers[i].scheduler));
  }
  return html + "</div>\n";
}

/// The cell of a scheduler, and how it compares with the first.
std::string cell(const Metric& metric, const ComparedFigure& figure, bool best) {
  const auto& [value, paired] = figure;
  std::string html = fmt::format("<td{}>{}", best ? " class='best'" : "", format_value(value.mean, metric.format));
  if (value.half_width > 0) html += fmt::format(" <small>± {}</small>", format_value(value.half_width, metric.format));
  if (const std::string part = relative(paired); !part.empty()) {
    // Neither good nor bad when the interval holds "no difference".
    const double mean = paired->difference.mean;
    const bool open = metric.better == Better::neither || std::abs(mean) <= paired->difference.half_width;
    const char* judged = open ? "" : (mean < 0) == (metric.better == Better::lower) ? " class='good'" : " class='bad'";
    html += fmt::format(" <small{}>{}</small>", judged, part);
  }
  return html + "</td>";
}

std::string metric_row(const Comparison& comparison, const Metric& metric) {
  std::vector<std::optional<ComparedFigure>> figures;
  std::optional<double> best;
  bool any = metric.key == "jobs_not_finished", differ = false;
  for (const auto& runs : comparison.schedulers) {
    const auto& figure = figures.emplace_back(compared_with_first(metric, comparison, runs));
    if (!figure) continue;
    const double mean = figure->value.mean;
    any = any || mean != 0;
    differ = differ || (best && *best != mean);
    if (!best || (metric.better == Better::lower ? mean < *best : mean > *best)) best = mean;
  }
  if (!any) return {};
  std::string html = fmt::format("<tr><td>{}</td>", html_escaped(metric.title));
  for (const auto& figure : figures) {
    const bool is_best = figure && metric.better != Better::neither && differ && figure->value.mean == *best;
    html += figure ? cell(metric, *figure, is_best) : std::string("<td>–</td>");
  }
  return html + "</tr>\n";
}

std::string summary(const Comparison& comparison) {
  std::string html = "<h2>Summary</h2>";
  const std::size_t seeds = comparison.seeds.size();
  if (seeds > 1) {
    html += fmt::format(
        "<p>Means over {} seeds, ± half the 95 % confidence interval (Student's t). Percentages compare with the first scheduler "
        "seed by seed, and are coloured when their interval does not hold 0.</p>",
        seeds);
  }
  html += "<div class='wide'><table><tr><th></th>";
  for (const auto& runs : comparison.schedulers) html += fmt::format("<th>{}</th>", html_escaped(runs.scheduler));
  html += "</tr>\n";
  for (const Metric& metric : metrics()) html += metric_row(comparison, metric);
  return html + "</table></div>\n";
}

std::string bars(const Comparison& comparison) {
  if (comparison.schedulers.size() < 2) return {};
  std::string html = "<h2>Side by side</h2><div class='charts'>";
  for (const char* key : {"completion_mean", "completion_p95", "makespan", "slowdown_mean", "cross_rack_bytes", "jain_jobs"}) {
    const auto metric = std::find_if(metrics().begin(), metrics().end(), [&](const Metric& one) { return one.key == key; });
    std::vector<Bar> chart;
    bool any = false;
    for (std::size_t i = 0; i < comparison.schedulers.size(); ++i) {
      const auto value = estimate_of(*metric, comparison, comparison.schedulers[i]);
      if (!value) continue;
      any = any || value->mean != 0;
      chart.push_back({i, comparison.schedulers[i].scheduler, *value, format_estimate(*value, metric->format)});
    }
    if (any) html += bar_chart(metric->title, chart);
  }
  return html + "</div>\n";
}

/// Pooled over the seeds.
template <class Values>
Line cumulative_line(const Comparison& comparison, std::size_t scheduler, Values values) {
  static const std::vector<Time> kNone;
  std::vector<double> all;
  const auto& runs = comparison.schedulers[scheduler].runs;
  for (std::size_t seed = 0; seed < runs.size(); ++seed) {
    const auto some = values(runs[seed], seed, seed < comparison.alone.size() ? comparison.alone[seed] : kNone);
    all.insert(all.end(), some.begin(), some.end());
  }
  return {scheduler, comparison.schedulers[scheduler].scheduler, cumulative(std::move(all))};
}

std::string distributions(const Comparison& comparison) {
  LinePlot times{"Completion times", "seconds from submission to end", "share of the jobs", true, false, 1.0, {}};
  LinePlot slow{"Slowdown", "completion time over the job's time alone", "share of the jobs", true, false, 1.0, {}};
  LinePlot gain{"Speed-up of single jobs",
                fmt::format("time under {} over time", comparison.schedulers[0].scheduler),
                "share of the jobs",
                true,
                false,
                1.0,
                {}};
  for (std::size_t i = 0; i < comparison.schedulers.size(); ++i) {
    times.lines.push_back(
        cumulative_line(comparison, i, [](const RunResult& run, std::size_t, const auto&) { return completion_seconds(run); }));
    slow.lines.push_back(
        cumulative_line(comparison, i, [](const RunResult& run, std::size_t, const auto& alone) { return slowdowns(run, alone); }));
    if (i == 0) continue;
    const auto& first = comparison.schedulers[0].runs;
    gain.lines.push_back(cumulative_line(comparison, i, [&](const RunResult& run, std::size_t seed, const auto&) {
      return seed < first.size() ? factors(run, first[seed]) : std::vector<double>();
    }));
  }
  std::string html =
      "<h2>Jobs</h2><p>Cumulative distributions over all jobs that finished, of all seeds. "
      "The time alone is a job's longest path, with no waiting and no bytes to move.</p><div class='charts'>";
  html += times.svg();
  if (std::any_of(slow.lines.begin(), slow.lines.end(), [](const Line& line) { return !line.points.empty(); })) html += slow.svg();
  if (!gain.lines.empty()) html += gain.svg();
  return html + "</div>\n";
}

/// A line per scheduler of its first seed; `points` makes it of that run.
template <class MakePoints>
LinePlot over_time(const Comparison& comparison, std::string title, std::string y_label, MakePoints points) {
  LinePlot plot{std::move(title), "time [s]", std::move(y_label), false, true, std::nullopt, {}};
  for (std::size_t i = 0; i < comparison.schedulers.size(); ++i) {
    const SchedulerRuns& scheduler = comparison.schedulers[i];
    if (!scheduler.runs.empty()) plot.lines.push_back({i, scheduler.scheduler, thinned(points(scheduler.runs.front()))});
  }
  return plot;
}

/// A point for each sample of a run.
template <class Value>
auto sampled(Value value) {
  return [value](const RunResult& run) {
    Points points;
    for (const Sample& sample : run.series.samples)
      points.push_back({in_seconds(run.series.step) * static_cast<double>(points.size()), value(sample, run.series.step)});
    return points;
  };
}

Points fairness_points(const RunResult& run) {
  Points points;
  for (const double index : run.fairness.jobs)
    points.push_back({in_seconds(run.fairness.window) * static_cast<double>(points.size()), index});
  return points;
}

double remote_rate(const Sample& sample, Time step, double Traffic::*amount) {
  double sum = 0;
  for (const Traffic& traffic : sample.traffic) sum += traffic.*amount;
  return step > Time{0} ? sum / in_seconds(step) / 1e9 : 0;
}

bool shows_anything(const LinePlot& plot) {
  return std::any_of(plot.lines.begin(), plot.lines.end(), [](const Line& line) {
    return std::any_of(line.points.begin(), line.points.end(), [](const Point& point) { return point.y > 0; });
  });
}

std::size_t rack_count(const Comparison& comparison) {
  if (comparison.schedulers.empty() || comparison.schedulers.front().runs.empty()) return 0;
  const Series& series = comparison.schedulers.front().runs.front().series;
  return series.samples.empty() ? 0 : series.samples.front().racks.size();
}

std::string times(const Comparison& comparison) {
  std::vector<LinePlot> plots;
  const auto add = [&](const char* title, const char* y_label, auto value) {
    plots.push_back(over_time(comparison, title, y_label, sampled(value)));
  };
  add("Utilisation of cpu", "part of the capacity",
      [](const Sample& sample, Time) { return sample.capacity.cpu > 0 ? sample.used.cpu / sample.capacity.cpu : 0; });
  plots.back().y_max = 1;
  add("Running jobs", "jobs", [](const Sample& sample, Time) { return sample.running_jobs; });
  add("Tasks that wait and could run", "tasks", [](const Sample& sample, Time) { return sample.pending_tasks; });
  add("Running tasks", "tasks", [](const Sample& sample, Time) { return sample.running_tasks; });
  add("Traffic between racks", "GB/s",
      [](const Sample& sample, Time step) { return remote_rate(sample, step, &Traffic::cross_rack); });
  add("Traffic between nodes", "GB/s", [](const Sample& sample, Time step) { return remote_rate(sample, step, &Traffic::remote); });
  plots.push_back(over_time(comparison, "Jain index over jobs", "", fairness_points));
  plots.back().y_max = 1;
  for (std::size_t rack = 0; rack < std::min(rack_count(comparison), kMostRacksDrawn); ++rack) {
    const auto rate = [rack](double RackTraffic::*way) {
      return sampled([rack, way](const Sample& sample, Time step) {
        return rack < sample.racks.size() && step > Time{0} ? sample.racks[rack].*way / in_seconds(step) / 1e9 : 0;
      });
    };
    const auto& limits = comparison.schedulers.front().runs.front().series.rack_limits;
    const RackTraffic limit = rack < limits.size() ? limits[rack] : RackTraffic();
    plots.push_back(over_time(comparison, fmt::format("Out of rack-{}", rack), "GB/s", rate(&RackTraffic::up)));
    plots.back().limit = limit.up / 1e9;
    plots.push_back(over_time(comparison, fmt::format("Into rack-{}", rack), "GB/s", rate(&RackTraffic::down)));
    plots.back().limit = limit.down / 1e9;
  }
  std::string html = "<h2>Over time</h2><p>Of the first seed.</p><div class='charts'>";
  bool any = false;
  for (const LinePlot& plot : plots) {
    if (!shows_anything(plot)) continue;
    html += plot.svg();
    any = true;
  }
  return any ? html + "</div>\n" : std::string();
}

std::string traffic(const Comparison& comparison) {
  std::vector<StackedBar> racks, nodes;
  double any = 0;
  for (const auto& runs : comparison.schedulers) {
    if (runs.runs.empty()) continue;
    StackedBar rack{runs.scheduler, {}}, node{runs.scheduler, {}};
    for (const Traffic& kind : runs.runs.front().traffic) {
      rack.parts.push_back(kind.cross_rack / 1e9);
      node.parts.push_back(kind.remote / 1e9);
      any += kind.remote;
    }
    racks.push_back(std::move(rack));
    nodes.push_back(std::move(node));
  }
  if (any == 0) return {};
  const std::vector<std::string> labels(kTrafficNames.begin(), kTrafficNames.end());
  return "<h2>Bytes moved</h2><p>Of the first seed.</p><div class='charts'>" + stacked_chart("Between racks", "GB", labels, racks) +
         stacked_chart("Between nodes, those of other racks included", "GB", labels, nodes) + "</div>\n";
}

std::string timelines(const Comparison& comparison) {
  double end = 0;
  bool cut = false;
  std::vector<std::vector<Span>> all;
  for (const auto& runs : comparison.schedulers) {
    auto& spans = all.emplace_back();
    if (runs.runs.empty()) continue;
    for (const JobResult& job : runs.runs.front().jobs) {
      if (!job.started || !job.ended) continue;
      cut = cut || spans.size() == kMostJobsDrawn;
      if (spans.size() == kMostJobsDrawn) break;
      spans.push_back({job.name, in_seconds(job.submitted), in_seconds(*job.started), in_seconds(*job.ended),
                       job.outcome != Outcome::finished});
      end = std::max(end, in_seconds(*job.ended));
    }
  }
  std::string html = fmt::format(
      "<h2>Jobs as they came</h2><p>A row per job in order of submission{}: pale while it waits for its first task. Of the "
      "first seed.</p><div class='charts'>",
      cut ? fmt::format(", the first {}", kMostJobsDrawn) : "");
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].empty()) html += timeline_chart(comparison.schedulers[i].scheduler, i, end, all[i]);
  }
  return html + "</div>\n";
}

std::string replays(const Comparison& comparison) {
  std::string html;
  for (const Replay& replay : comparison.replays) {
    html += fmt::format(
        "<h2>Compared with what happened: {}</h2><p>Makespan {:+.1f} %, jobs {:.1f} % off in the mean{}.</p><div "
        "class='wide'><table>",
        html_escaped(replay.scheduler), 100 * replay.makespan_error(), 100 * replay.mean_absolute_error(),
        replay.launches == 0 ? "" : "; " + launches_text(replay));
    const Rows rows = replay_rows(replay);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i > kMostReplayed && i + 1 < rows.size()) continue;
      html += "<tr>";
      for (const auto& text : rows[i]) html += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", html_escaped(text));
      html += "</tr>\n";
    }
    html += "</table></div>\n";
  }
  return html;
}

std::string unfinished_jobs(const Comparison& comparison) {
  const auto lines = failures(comparison, kMostFailures);
  if (lines.empty()) return {};
  std::string html = "<h2>Jobs that did not finish</h2><ul>";
  for (const auto& line : lines) html += "<li>" + html_escaped(line) + "</li>";
  return html + "</ul>\n";
}

}  // namespace

std::string to_html(const Comparison& comparison) {
  std::string body = head(comparison) + replays(comparison) + summary(comparison) + bars(comparison);
  if (!comparison.schedulers.empty()) body += distributions(comparison);
  body += winners(comparison) + tasks_of_users(comparison) + times(comparison) + traffic(comparison) + timelines(comparison) +
          unfinished_jobs(comparison);
  return html_page("weft simulate: " + comparison.title, body);
}

}  // namespace weft::simulator::report

#include "engine/simulator/report/html_users.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/svg.hpp"

namespace weft::simulator::report {

namespace {

constexpr std::size_t kMostPlaces = 300;  // of an area chart, in time
constexpr std::size_t kMostDots = 1000, kMostUsersShown = 20;
constexpr double kAlike = 0.05;  // part of the time by which a job may differ and count as alike

std::vector<Layer> layers_of(const Series& series) {
  std::vector<Layer> layers;
  for (std::size_t user = 0; user < series.users.size(); ++user) {
    Layer& layer = layers.emplace_back(Layer{series.users[user].empty() ? "(no name)" : series.users[user], {}});
    for (const Sample& sample : series.samples) {
      const double tasks = user < sample.tasks_of_users.size() ? sample.tasks_of_users[user] : 0;
      layer.points.push_back({in_seconds(series.step) * static_cast<double>(layer.points.size()), tasks});
    }
    layer.points = thinned(layer.points, kMostPlaces);
  }
  return layers;
}

double highest(const std::vector<Layer>& layers) {
  double most = 0;
  for (std::size_t at = 0; at < layers.front().points.size(); ++at) {
    double sum = 0;
    for (const Layer& layer : layers) sum += layer.points[at].y;
    most = std::max(most, sum);
  }
  return most;
}

/// A job that finished in both runs.
struct Pair {
  const JobResult* job = nullptr;
  double before = 0, now = 0;  // seconds
};

std::vector<Pair> pairs(const SchedulerRuns& first, const SchedulerRuns& other) {
  std::vector<Pair> all;
  for (std::size_t seed = 0; seed < std::min(first.runs.size(), other.runs.size()); ++seed) {
    const auto &before = first.runs[seed].jobs, &now = other.runs[seed].jobs;
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
      const auto a = before[i].completion_time(), b = now[i].completion_time();
      if (a && b) all.push_back({&now[i], in_seconds(*a), in_seconds(*b)});
    }
  }
  return all;
}

std::string scatter(const Comparison& comparison, std::size_t scheduler, const std::vector<Pair>& jobs) {
  std::vector<Dot> dots;
  std::size_t sooner = 0, later = 0;
  const std::size_t every = jobs.size() / kMostDots + 1;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Pair& job = jobs[i];
    if (job.now < job.before * (1 - kAlike)) ++sooner;
    if (job.now > job.before * (1 + kAlike)) ++later;
    if (i % every == 0) dots.push_back({job.before, job.now, job.job->name});
  }
  const std::string& name = comparison.schedulers[scheduler].scheduler;
  return scatter_chart(fmt::format("{}: {} jobs sooner, {} later, {} alike", name, sooner, later, jobs.size() - sooner - later),
                       fmt::format("seconds under {}", comparison.schedulers[0].scheduler), "seconds", scheduler, dots);
}

struct OfUser {
  std::size_t jobs = 0;
  double before = 0, now = 0;
};

/// The users with most time first, and the mean completion time of each under the first scheduler; of the others how it changed.
std::string table(const Comparison& comparison, const std::vector<std::vector<Pair>>& by_scheduler) {
  std::vector<std::map<std::string, OfUser>> sums;
  for (const auto& jobs : by_scheduler) {
    auto& users = sums.emplace_back();
    for (const Pair& pair : jobs) {
      OfUser& user = users[pair.job->user];
      ++user.jobs, user.before += pair.before, user.now += pair.now;
    }
  }
  if (sums.front().size() < 2) return {};
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, user] : sums.front()) order.emplace_back(user.before, name);
  std::ranges::sort(order, std::greater<>());
  const bool cut = order.size() > kMostUsersShown;
  if (cut) order.resize(kMostUsersShown);
  std::string html = fmt::format(
      "<p>Mean completion times of users{}.</p><div class='wide'><table><tr><th>user</th><th>jobs</th><th>{}</th>",
      cut ? fmt::format(", of the {} with the most", kMostUsersShown) : "", html_escaped(comparison.schedulers[0].scheduler));
  for (std::size_t i = 1; i < comparison.schedulers.size(); ++i)
    html += fmt::format("<th>{}</th>", html_escaped(comparison.schedulers[i].scheduler));
  html += "</tr>\n";
  for (const auto& [seconds, name] : order) {
    const OfUser& first = sums.front().at(name);
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td>", name.empty() ? "(no name)" : html_escaped(name),
                        first.jobs / std::max<std::size_t>(1, comparison.seeds.size()),
                        format_value(first.before / static_cast<double>(first.jobs), Format::seconds));
    for (const auto& users : sums) {
      const auto user = users.find(name);
      const double change = user != users.end() && user->second.before > 0 ? user->second.now / user->second.before - 1 : 0;
      const char* judged = change < -kAlike ? " class='good'" : change > kAlike ? " class='bad'" : "";
      html += fmt::format("<td><small{}>{:+.1f} %</small></td>", judged, 100 * change);
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string tasks_of_users(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::vector<Layer>>> charts;
  double high = 0;
  for (const SchedulerRuns& runs : comparison.schedulers) {
    if (runs.runs.empty() || runs.runs.front().series.users.size() < 2 || runs.runs.front().series.samples.empty()) continue;
    const auto& [name, layers] = charts.emplace_back(runs.scheduler, layers_of(runs.runs.front().series));
    high = std::max(high, highest(layers));
  }
  if (charts.empty()) return {};
  std::string html = "<h2>Running tasks by user</h2><p>Of the first seed.</p><div class='charts'>";
  for (const auto& [name, layers] : charts) html += area_chart(name, "tasks", layers, 1.05 * high);
  return html + "</div>\n";
}

std::string winners(const Comparison& comparison) {
  if (comparison.schedulers.size() < 2) return {};
  std::vector<std::vector<Pair>> by_scheduler;
  std::string charts;
  for (std::size_t i = 1; i < comparison.schedulers.size(); ++i) {
    by_scheduler.push_back(pairs(comparison.schedulers[0], comparison.schedulers[i]));
    if (!by_scheduler.back().empty()) charts += scatter(comparison, i, by_scheduler.back());
  }
  if (charts.empty()) return {};
  return fmt::format(
             "<h2>Who gains and who pays</h2><p>A dot per job of all seeds (of more than {}, a part of them): below the line it "
             "ended "
             "sooner than under {}. Jobs within {:.0f} % count as alike.</p><div class='charts'>",
             kMostDots, html_escaped(comparison.schedulers[0].scheduler), 100 * kAlike) +
         charts + "</div>\n" + table(comparison, by_scheduler);
}

}  // namespace weft::simulator::report

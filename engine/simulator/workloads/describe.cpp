#include "engine/simulator/workloads/describe.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/counted.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/simulator/quantile.hpp"

namespace weft::simulator::workloads {

namespace {

/// The sums over all jobs, and the values for percentiles.
class Counter {
 public:
  void add(const JobSpec& job) {
    double input = 0, shuffle = 0;
    for (const StageSpec& stage : job.stages) {
      f.edges += stage.parents.size();
      f.tasks += stage.tasks;
      input += static_cast<double>(stage.input_bytes);
      shuffle += static_cast<double>(stage.shuffle_bytes);
      f.output_bytes += static_cast<double>(stage.output_bytes);
      if (stage.durations.empty()) f.work_seconds += in_seconds(stage.duration) * stage.tasks;
      for (const Time one : stage.durations) f.work_seconds += in_seconds(one);
    }
    const std::uint64_t first = job.stages.empty() ? 0 : job.stages.front().tasks;
    f.first_stage_tasks += first;
    f.largest_first_stage = std::max(f.largest_first_stage, first);
    f.stages += job.stages.size();
    f.most_stages = std::max(f.most_stages, job.stages.size());
    stages.push_back(static_cast<double>(job.stages.size()));
    depths.push_back(longest_path(job, [](const StageSpec&) { return 1.0; }));
    inputs.push_back(input);
    add_bytes(input, shuffle);
    if (!job.options.user.empty()) users.insert(job.options.user);
    if (!job.options.pool.empty()) pools.insert(job.options.pool);
    if (job.deadline) ++f.deadlines;
  }

  Figures f;
  std::vector<double> stages, depths, inputs, ratios;
  std::set<std::string> users, pools;

 private:
  void add_bytes(double input, double shuffle) {
    f.input_bytes += input;
    f.shuffle_bytes += shuffle;
    if (shuffle == 0) ++f.without_shuffle;
    if (shuffle > 0 && input > 0) ratios.push_back(shuffle / input);
    if (shuffle > input) ++f.heavy, f.heavy_shuffle_bytes += shuffle;
    if (shuffle >= 1e10) ++f.large_shuffles, f.large_shuffle_bytes += shuffle;
  }
};

/// With decimal units, as descriptions of traces have them.
std::string decimal(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 9999.5 && unit + 1 < kUnits.size()) bytes /= 1000, ++unit;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

double percent(double part, double all) { return all > 0 ? 100 * part / all : 0; }

}  // namespace

Figures figures_of(const Workload& workload) {
  Counter count;
  for (const JobSpec& job : workload.jobs) count.add(job);
  Figures f = count.f;
  f.jobs = workload.jobs.size();
  if (f.jobs > 0) f.span = workload.jobs.back().arrival - workload.jobs.front().arrival;
  if (f.jobs > 1) f.mean_gap = in_seconds(f.span) / static_cast<double>(f.jobs - 1);
  f.ratio_p50 = quantile(count.ratios, .5);
  f.ratio_p75 = quantile(count.ratios, .75);
  f.ratio_p90 = quantile(count.ratios, .9);
  f.ratio_p95 = quantile(count.ratios, .95);
  f.input_p50 = quantile(count.inputs, .5);
  f.input_p90 = quantile(count.inputs, .9);
  f.input_p99 = quantile(count.inputs, .99);
  f.largest_input = quantile(count.inputs, 1);
  f.stages_p50 = quantile(count.stages, .5);
  f.stages_p95 = quantile(count.stages, .95);
  f.depth_p50 = quantile(count.depths, .5);
  std::set<std::string> racks;
  for (const HostSpec& host : workload.hosts) racks.insert(host.rack);
  racks.erase("");
  f.hosts = workload.hosts.size();
  f.racks = racks.size();
  f.users = count.users.size();
  f.pools = count.pools.size();
  return f;
}

std::string to_text(const Workload& workload, const Figures& f) {
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) { text += fmt::format("{:<26}{}\n", name, value); };
  line("workload", escaped(workload.name));
  line("jobs", fmt::format("{}", f.jobs));
  line("stages", fmt::format("{} (of a job p50 {:.4g}, p95 {:.4g}, max {})", f.stages, f.stages_p50, f.stages_p95, f.most_stages));
  line("edges", fmt::format("{}", f.edges));
  line("depth p50", fmt::format("{:.4g}", f.depth_p50));
  line("tasks", fmt::format("{}", f.tasks));
  line("tasks of first stages", fmt::format("{} (max {})", f.first_stage_tasks, f.largest_first_stage));
  line("work", fmt::format("{:.0f} task-seconds", f.work_seconds));
  line("arrivals", fmt::format("over {:.0f} s, mean gap {:.3f} s", in_seconds(f.span), f.mean_gap));
  const double bytes = f.input_bytes + f.shuffle_bytes + f.output_bytes;
  if (bytes > 0) {
    line("input, shuffle, output",
         fmt::format("{} / {} / {}", decimal(f.input_bytes), decimal(f.shuffle_bytes), decimal(f.output_bytes)));
    const auto jobs = static_cast<double>(f.jobs);
    line("jobs without shuffle", fmt::format("{:.1f} %", percent(static_cast<double>(f.without_shuffle), jobs)));
    line("heavy (shuffle > input)",
         fmt::format("{:.2f} % of the jobs, {:.1f} % of the shuffle bytes", percent(static_cast<double>(f.heavy), jobs),
                     percent(f.heavy_shuffle_bytes, f.shuffle_bytes)));
    line("shuffle of 10 GB or more",
         fmt::format("{} jobs, {:.1f} % of the shuffle bytes", f.large_shuffles, percent(f.large_shuffle_bytes, f.shuffle_bytes)));
  }
  if (f.input_bytes > 0) {
    line("shuffle over input",
         fmt::format("p50 {:.2f}, p75 {:.2f}, p90 {:.2f}, p95 {:.2f}", f.ratio_p50, f.ratio_p75, f.ratio_p90, f.ratio_p95));
    line("input of a job", fmt::format("p50 {}, p90 {}, p99 {}, max {}", decimal(f.input_p50), decimal(f.input_p90),
                                       decimal(f.input_p99), decimal(f.largest_input)));
  }
  if (f.hosts > 0) line("hosts", fmt::format("{} in {}", f.hosts, counted(f.racks, "rack")));
  if (f.users > 0) line("users", fmt::format("{}", f.users));
  if (f.pools > 0) line("pools", fmt::format("{}", f.pools));
  if (f.deadlines > 0) line("jobs with a deadline", fmt::format("{}", f.deadlines));
  for (const auto& note : workload.notes) line("note", note);
  return text;
}

std::string to_json(const Workload& workload, const Figures& f) {
  JsonWriter json;
  json.begin_object().member("workload", workload.name).member("jobs", f.jobs).member("stages", f.stages).member("edges", f.edges);
  json.member("stages_p50", f.stages_p50).member("stages_p95", f.stages_p95).member("stages_max", f.most_stages);
  json.member("depth_p50", f.depth_p50).member("tasks", f.tasks).member("first_stage_tasks", f.first_stage_tasks);
  json.member("first_stage_tasks_max", f.largest_first_stage).member("work_seconds", f.work_seconds);
  json.member("span_seconds", in_seconds(f.span)).member("mean_gap_seconds", f.mean_gap);
  json.member("input_bytes", f.input_bytes).member("shuffle_bytes", f.shuffle_bytes).member("output_bytes", f.output_bytes);
  json.member("jobs_without_shuffle", f.without_shuffle).member("heavy_jobs", f.heavy);
  json.member("heavy_shuffle_bytes", f.heavy_shuffle_bytes).member("large_shuffles", f.large_shuffles);
  json.member("large_shuffle_bytes", f.large_shuffle_bytes).key("shuffle_over_input").begin_object();
  json.member("p50", f.ratio_p50).member("p75", f.ratio_p75).member("p90", f.ratio_p90).member("p95", f.ratio_p95).end_object();
  json.key("input_of_a_job").begin_object().member("p50", f.input_p50).member("p90", f.input_p90).member("p99", f.input_p99);
  json.member("max", f.largest_input).end_object().member("hosts", f.hosts).member("racks", f.racks).member("users", f.users);
  json.member("pools", f.pools).member("deadlines", f.deadlines).key("notes").begin_array();
  for (const auto& note : workload.notes) json.value(note);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::simulator::workloads

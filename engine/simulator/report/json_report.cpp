#include <utility>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "engine/simulator/report/metrics.hpp"
#include "engine/simulator/report/reports.hpp"

namespace weft::simulator::report {

namespace {

void add(JsonWriter& json, const TrafficByKind& traffic) {
  json.begin_object();
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    json.key(kTrafficNames[kind]).begin_object().member("total", traffic[kind].total).member("remote", traffic[kind].remote);
    json.member("cross_rack", traffic[kind].cross_rack).end_object();
  }
  json.end_object();
}

void add(JsonWriter& json, const JobResult& job) {
  json.begin_object().member("index", job.index).member("name", job.name).member("user", job.user).member("pool", job.pool);
  json.member("outcome", name_of(job.outcome)).member("submitted", in_seconds(job.submitted));
  if (job.started) json.member("started", in_seconds(*job.started));
  if (job.ended) json.member("ended", in_seconds(*job.ended));
  if (const auto time = job.completion_time()) json.member("completion", in_seconds(*time));
  if (job.deadline) json.member("deadline", in_seconds(*job.deadline)).member("missed", job.missed_deadline());
  if (const auto late = job.lateness()) json.member("lateness", in_seconds(*late));
  if (!job.error.empty()) json.member("error", job.error);
  json.member("tasks", job.tasks).member("attempts", job.attempts).member("failed_attempts", job.failed_attempts);
  json.member("preemptions", job.preemptions).member("speculative_attempts", job.speculative).key("traffic");
  add(json, job.traffic);
  json.end_object();
}

void add_series(JsonWriter& json, const Series& series) {
  json.begin_object().member("step", in_seconds(series.step));
  const auto list = [&](std::string_view name, auto value) {
    json.key(name).begin_array();
    for (const Sample& sample : series.samples) json.value(value(sample));
    json.end_array();
  };
  list("cpu_used", [](const Sample& sample) { return sample.used.cpu; });
  list("cpu_capacity", [](const Sample& sample) { return sample.capacity.cpu; });
  list("running_tasks", [](const Sample& sample) { return sample.running_tasks; });
  list("pending_tasks", [](const Sample& sample) { return sample.pending_tasks; });
  list("running_jobs", [](const Sample& sample) { return sample.running_jobs; });
  for (std::size_t kind = 0; kind < kTrafficKinds; ++kind) {
    list(std::string("cross_rack ") + kTrafficNames[kind],
         [kind](const Sample& sample) { return sample.traffic[kind].cross_rack; });
  }
  const std::size_t racks = series.samples.empty() ? 0 : series.samples.front().racks.size();
  json.key("racks").begin_array();
  for (std::size_t rack = 0; rack < racks; ++rack) {
    json.begin_object();
    list("up", [rack](const Sample& sample) { return sample.racks[rack].up; });
    list("down", [rack](const Sample& sample) { return sample.racks[rack].down; });
    json.end_object();
  }
  json.end_array().end_object();
}

void add_fairness(JsonWriter& json, const Fairness& fairness) {
  json.key("fairness").begin_object().member("window", in_seconds(fairness.window));
  for (const auto& [name, windows] :
       {std::pair("jobs", &fairness.jobs), std::pair("users", &fairness.users), std::pair("fair_shares", &fairness.fair_shares)}) {
    json.key(name).begin_array();
    for (const double index : *windows) json.value(index);
    json.end_array();
  }
  json.end_object();
}

/// Leaves the object open.
JsonWriter& begin(JsonWriter& json, std::string_view name, const Estimate& estimate) {
  json.key(name).begin_object().member("mean", estimate.mean).member("half_width", estimate.half_width);
  return json.member("runs", estimate.runs);
}

void add_summary(JsonWriter& json, const Comparison& comparison, const SchedulerRuns& runs) {
  json.begin_object();
  for (const Metric& metric : metrics()) {
    const auto figure = compared_with_first(metric, comparison, runs);
    if (!figure) continue;
    begin(json, metric.key, figure->value);
    if (const auto& paired = figure->paired) {
      begin(json, "difference", paired->difference).end_object();
      if (paired->ratio) begin(json, "ratio", *paired->ratio).end_object();
    }
    json.end_object();
  }
  json.end_object();
}

void add_run(JsonWriter& json, const Comparison& comparison, const SchedulerRuns& runs, std::size_t seed) {
  const RunResult& run = runs.runs[seed];
  json.begin_object().member("seed", run.seed).member("event_digest", run.event_digest).member("events", run.events);
  json.member("tasks", run.tasks).member("launches", run.launches).key("metrics").begin_object();
  for (const Metric& metric : metrics()) {
    if (const auto value = value_of(metric, comparison, runs, seed)) json.member(metric.key, *value);
  }
  json.end_object().key("traffic");
  add(json, run.traffic);
  json.key("series");
  add_series(json, run.series);
  add_fairness(json, run.fairness);
  json.key("jobs").begin_array();
  for (const JobResult& job : run.jobs) add(json, job);
  json.end_array().end_object();
}

void add_replay(JsonWriter& json, const Replay& replay) {
  json.begin_object().member("scheduler", replay.scheduler).member("recorded_makespan", replay.recorded_makespan);
  json.member("simulated_makespan", replay.simulated_makespan).member("makespan_error", replay.makespan_error());
  json.member("launches", replay.launches).member("launches_alike", replay.launches_alike);
  json.member("mean_absolute_error", replay.mean_absolute_error()).key("jobs").begin_array();
  for (const ReplayedJob& job : replay.jobs) {
    json.begin_object().member("name", job.name).member("recorded", job.recorded_seconds);
    json.member("simulated", job.simulated_seconds).member("error", job.error()).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  JsonWriter json;
  json.begin_object().member("workload", comparison.title).key("facts").begin_object();
  for (const auto& [label, value] : comparison.facts) json.member(label, value);
  json.end_object().key("schedulers").begin_array();
  for (const auto& runs : comparison.schedulers) {
    json.begin_object().member("scheduler", runs.scheduler).key("summary");
    add_summary(json, comparison, runs);
    json.key("runs").begin_array();
    for (std::size_t seed = 0; seed < runs.runs.size(); ++seed) add_run(json, comparison, runs, seed);
    json.end_array().end_object();
  }
  json.end_array().key("replays").begin_array();
  for (const Replay& replay : comparison.replays) add_replay(json, replay);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::simulator::report

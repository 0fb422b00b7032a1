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
  json.end_object();
}

void add_run(JsonWriter& json, const RunResult& run, const std::vector<Time>& alone) {
  json.begin_object().member("seed", run.seed).member("event_digest", run.event_digest).member("events", run.events);
  json.member("tasks", run.tasks).member("launches", run.launches).key("metrics").begin_object();
  for (const Metric& metric : metrics()) {
    if (const auto value = metric.value(run, alone)) json.member(metric.key, *value);
  }
  json.end_object().key("traffic");
  add(json, run.traffic);
  json.key("series");
  add_series(json, run.series);
  json.key("jobs").begin_array();
  for (const JobResult& job : run.jobs) add(json, job);
  json.end_array().end_object();
}

void add_replay(JsonWriter& json, const Replay& replay) {
  json.begin_object().member("scheduler", replay.scheduler).member("recorded_makespan", replay.recorded_makespan);
  json.member("simulated_makespan", replay.simulated_makespan).member("makespan_error", replay.makespan_error());
  json.member("mean_absolute_error", replay.mean_absolute_error()).key("jobs").begin_array();
  for (const ReplayedJob& job : replay.jobs) {
    json.begin_object()
        .member("name", job.name)
        .member("recorded", job.recorded_seconds)
        .member("simulated", job.simulated_seconds);
    json.member("error", job.error()).end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  static const std::vector<Time> kNone;
  JsonWriter json;
  json.begin_object().member("workload", comparison.title).key("facts").begin_object();
  for (const auto& [label, value] : comparison.facts) json.member(label, value);
  json.end_object().key("schedulers").begin_array();
  for (const auto& runs : comparison.schedulers) {
    json.begin_object().member("scheduler", runs.scheduler).key("summary").begin_object();
    for (const Metric& metric : metrics()) {
      const auto value = estimate_of(metric, comparison, runs);
      if (!value) continue;
      json.key(metric.key).begin_object().member("mean", value->mean).member("half_width", value->half_width);
      json.member("runs", value->runs).end_object();
    }
    json.end_object().key("runs").begin_array();
    for (std::size_t seed = 0; seed < runs.runs.size(); ++seed) {
      add_run(json, runs.runs[seed], seed < comparison.alone.size() ? comparison.alone[seed] : kNone);
    }
    json.end_array().end_object();
  }
  json.end_array().key("replays").begin_array();
  for (const Replay& replay : comparison.replays) add_replay(json, replay);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::simulator::report

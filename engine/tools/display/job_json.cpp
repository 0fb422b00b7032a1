// The JSON of jobs; docs/cli.md tells which commands print it.
#include "base/clock.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/tools/display/job_text.hpp"

namespace weft::tools {

namespace {

const char* why_name(master::WaitingTasks::Why why) {
  using Why = master::WaitingTasks::Why;
  switch (why) {
    case Why::parents:
      return "parents";
    case Why::held:
      return "held";
    case Why::avoiding:
      return "avoiding";
    case Why::placed:
      return "placed";
    case Why::outputs:
      return "outputs";
  }
  return "unknown";
}

void write_expectation(JsonWriter& json, const master::JobStatus& job, Duration now) {
  const master::Expectation& expected = *job.expected;
  json.key("expected").begin_object();
  if (expected.end > Duration(0))
    json.member("end_seconds", in_seconds(expected.end - now)).member("margin_seconds", in_seconds(*job.deadline - expected.end));
  if (expected.alone > Duration(0)) json.member("end_alone_seconds", in_seconds(expected.alone - now));
  json.member("tasks_at_a_time", expected.slots).member("tasks_needed", expected.needed).member("room_for_tasks", expected.cluster);
  json.member("outlook", master::outlook_text(job)).end_object();
}

void write_job(JsonWriter& json, const master::JobStatus& job, Duration now) {
  json.begin_object().member("id", job.id.value()).member("name", job.name).member("user", job.user).member("pool", job.pool);
  json.member("state", name_of(job.state)).member("error", job.error);
  json.member("submitted_seconds_ago", in_seconds(now - job.submitted)).member("seconds", in_seconds(age(job, now)));
  json.member("tasks", job.tasks).member("finished_tasks", job.finished_tasks).member("running_tasks", job.running_tasks);
  json.member("priority", job.priority).member("weight", job.weight.value_or(1));
  if (job.shuffle_replicas > 1) json.member("shuffle_replicas", job.shuffle_replicas);
  if (job.deadline) json.member("deadline_seconds_left", in_seconds(time_to_deadline(job, now)));
  if (job.expected) write_expectation(json, job, now);
  json.member("input_bytes", job.input_bytes).member("input_records", job.input_records).member("shuffle_bytes", job.shuffle_bytes);
}

void write_attempts(JsonWriter& json, const master::StageStatus& stage) {
  const master::StageAttempts& attempts = stage.usage.attempts;
  json.key("attempts").begin_object().member("first", attempts.first).member("retried", attempts.retried);
  json.member("speculative", stage.speculative).member("finished", attempts.finished).member("failed", attempts.failed);
  json.member("killed", attempts.killed).member("lost", attempts.lost).end_object();
}

/// `per`: so many of the numbers are one.
void write_distribution(JsonWriter& json, std::string_view name, const Distribution& of, double per = 1) {
  json.key(name).begin_object();
  for (const auto& [part, value] : {std::pair("total", of.total), std::pair("min", of.min), std::pair("median", of.median),
                                    std::pair("p95", of.p95), std::pair("max", of.max)}) {
    if (per == 1)
      json.member(part, value);
    else
      json.member(part, static_cast<double>(value) / per);
  }
  json.end_object();
}

void write_figures(JsonWriter& json, const master::TaskFigures<Distribution>& figures) {
  json.key("task_figures").begin_object();
  write_distribution(json, "seconds", figures.nanoseconds, 1e9);
  write_distribution(json, "input_bytes", figures.input_bytes);
  write_distribution(json, "shuffle_read_bytes", figures.shuffle_read_bytes);
  write_distribution(json, "shuffle_bytes", figures.shuffle_bytes);
  write_distribution(json, "output_bytes", figures.output_bytes);
  write_distribution(json, "spilled_bytes", figures.spilled_bytes);
  json.end_object();
}

void write_shuffle(JsonWriter& json, const master::JobStatus& job, const master::StageStatus& stage) {
  if (job.shuffle_replicas > 1)
    json.member("replicas", stage.replicas)
        .member("replicas_abandoned", stage.replicas_abandoned)
        .member("replicas_used", stage.replicas_used);
  if (stage.predicted_shuffle_bytes > 0)
    json.member("predicted_shuffle_bytes", stage.predicted_shuffle_bytes)
        .member("predicted_largest_partition_bytes", stage.predicted_largest_partition);
  if (stage.rounds_evicted > 0)
    json.member("rounds_deferred", stage.rounds_deferred)
        .member("deferred_bytes", stage.bytes_deferred)
        .member("rounds_evicted", stage.rounds_evicted)
        .member("rounds_returned", stage.rounds_returned);
}

}  // namespace

void add_stage(JsonWriter& json, const master::JobStatus& job, const master::StageStatus& stage, Duration now) {
  json.begin_object().member("id", stage.id.value()).member("name", stage.name).member("tasks", stage.tasks);
  json.member("finished", stage.finished).member("running", stage.running).member("failed_attempts", stage.failed_attempts);
  json.member("speculative_attempts", stage.speculative).member("speculative_won", stage.speculative_won);
  json.member("tasks_in_two_attempts", stage.speculating);
  json.member("state", stage_state(job, stage)).member("reason", job.state == master::JobState::running ? stage.reason : "");
  const master::StageUsage& usage = stage.usage;
  if (usage.attempts.first > 0)
    json.member("began_seconds", in_seconds(usage.began - job.submitted)).member("seconds", in_seconds(stage_age(job, stage, now)));
  write_attempts(json, stage);
  json.member("input_bytes", stage.input_bytes).member("shuffle_bytes", stage.shuffle_bytes);
  json.key("task_seconds").begin_object().member("read", in_seconds(usage.phases.read));
  json.member("shuffle", in_seconds(usage.phases.shuffle)).member("compute", in_seconds(usage.phases.compute));
  json.member("write", in_seconds(usage.phases.write)).member("cpu", in_seconds(usage.cpu)).end_object();
  json.member("peak_task_memory_bytes", usage.peak_memory);
  write_figures(json, usage.figures);
  client::add_bad_records(json, usage.bad_records);
  if (usage.accelerated > 0) json.member("accelerated_attempts", usage.accelerated);
  if (stage.estimate.predicted > Duration(0))
    json.member("predicted_task_seconds", in_seconds(stage.estimate.predicted))
        .member("predicted_by", name_of(stage.estimate.source));
  if (stage.estimate.mean > Duration(0)) json.member("mean_task_seconds", in_seconds(stage.estimate.mean));
  write_shuffle(json, job, stage);
  json.end_object();
}

std::string stage_state(const master::JobStatus& job, const master::StageStatus& stage) {
  if (stage.finished == stage.tasks) return "done";
  if (job.state != master::JobState::running) {
    const master::StageAttempts& attempts = stage.usage.attempts;
    if (attempts.first == 0) return "not run";
    return job.state == master::JobState::failed && attempts.failed + attempts.lost > 0 ? "failed" : "cancelled";
  }
  if (stage.running > 0) return "running";
  return stage.waiting ? "waiting for its input" : "pending";
}

Duration age(const master::JobStatus& job, Duration now) {
  return (job.state == master::JobState::running ? now : job.ended) - job.submitted;
}

Duration stage_age(const master::JobStatus& job, const master::StageStatus& stage, Duration now) {
  const master::StageUsage& usage = stage.usage;
  if (usage.attempts.first == 0) return Duration(0);
  if (stage.finished == stage.tasks) return usage.ended - usage.began;
  return (job.state == master::JobState::running ? now : job.ended) - usage.began;
}

Duration time_to_deadline(const master::JobStatus& job, Duration now) {
  return *job.deadline - (job.state == master::JobState::running ? now : job.ended);
}

void add_prefetch_stats(JsonWriter& json, const shuffle::PrefetchStats& stats) {
  json.begin_object().member("prefetched_bytes", stats.prefetched_bytes).member("read_bytes", stats.read_bytes);
  json.member("wasted_bytes", stats.wasted_bytes).member("evicted_bytes", stats.evicted_bytes);
  json.member("evicted_file_bytes", stats.evicted_file_bytes).member("returned_bytes", stats.returned_bytes).end_object();
}

std::string jobs_json(const client::JobList& jobs) {
  JsonWriter json;
  json.begin_array();
  for (const master::JobStatus& job : jobs.jobs) {
    write_job(json, job, jobs.now);
    json.end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string job_json(const master::JobStatus& job, Duration now) {
  JsonWriter json;
  write_job(json, job, now);
  json.key("prefetch");
  add_prefetch_stats(json, job.prefetch);
  client::add_lost_workers(json, job);
  json.key("stages").begin_array();
  for (const master::StageStatus& stage : job.stages) add_stage(json, job, stage, now);
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string counters_json(const master::JobStatus& job) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : job.counters) json.member(name, value);
  json.end_object();
  return json.text() + "\n";
}

std::string explanation_json(const master::JobExplanation& job) {
  JsonWriter json;
  json.begin_object().member("id", job.id.value()).member("name", job.name).member("state", name_of(job.state));
  json.member("summary", job.summary).member("running", job.running).member("finished", job.finished);
  json.member("tasks_in_two_attempts", job.speculating).member("stragglers_waiting", job.straggling).key("waiting").begin_array();
  for (const master::WaitingTasks& group : job.waiting) {
    json.begin_object().member("stage", group.stage.value()).member("name", group.stage_name).member("tasks", group.tasks);
    json.member("kind", why_name(group.why)).member("reason", group.reason);
    if (group.since) json.member("seconds_ago", in_seconds(job.now - *group.since));
    json.end_object();
  }
  json.end_array().key("estimates").begin_array();
  for (const master::UsedEstimate& one : job.estimates)
    json.begin_object()
        .member("stage", one.stage.value())
        .member("name", one.stage_name)
        .member("task_seconds", in_seconds(one.duration))
        .member("source", name_of(one.source))
        .member("basis", one.basis)
        .end_object();
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string logs_json(const std::vector<client::JobLog>& logs) {
  JsonWriter json;
  json.begin_array();
  for (const client::JobLog& log : logs)
    json.begin_object().member("node", log.node).member("error", log.error).member("text", as_chars(log.text.view())).end_object();
  json.end_array();
  return json.text() + "\n";
}

}  // namespace weft::tools

// The JSON of jobs; docs/cli.md lists the commands that print it.
#include "base/clock.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/json_members.hpp"

namespace weft::tools {

namespace {

const char* why_name(master::WaitingTasks::Why why) {
  constexpr const char* kNames[] = {"parents", "held", "avoiding", "placed", "outputs"};
  return kNames[static_cast<std::size_t>(why)];
}

void write_expectation(JsonWriter& json, const master::JobStatus& job, Duration now) {
  const master::Expectation& expected = *job.expected;
  json.key("expected").begin_object();
  if (expected.end > Duration(0))
    members(json, "end_seconds", in_seconds(expected.end - now), "margin_seconds", in_seconds(*job.deadline - expected.end));
  if (expected.alone > Duration(0)) members(json, "end_alone_seconds", in_seconds(expected.alone - now));
  members(json, "tasks_at_a_time", expected.slots, "tasks_needed", expected.needed, "room_for_tasks", expected.cluster, "outlook",
          master::outlook_text(job));
  json.end_object();
}

void write_job(JsonWriter& json, const master::JobStatus& job, Duration now) {
  members(json, "id", job.id.value(), "name", job.name, "user", job.user, "pool", job.pool, "state", name_of(job.state), "error",
          job.error, "submitted_seconds_ago", in_seconds(now - job.submitted), "seconds", in_seconds(age(job, now)), "tasks",
          job.tasks.all, "finished_tasks", job.tasks.finished, "running_tasks", job.tasks.running, "priority", job.priority,
          "weight", job.weight.value_or(1));
  if (!job.options.empty()) {
    json.key("options").begin_object();
    for (const auto& [name, text] : job.options) json.member(name, text);
    json.end_object();
  }
  if (job.shuffle_replicas > 1) members(json, "shuffle_replicas", job.shuffle_replicas);
  if (job.left > Duration(0)) members(json, "seconds_left", in_seconds(job.left));
  if (job.deadline) members(json, "deadline_seconds_left", in_seconds(time_to_deadline(job, now)));
  if (job.expected) write_expectation(json, job, now);
  members(json, "input_bytes", job.input_bytes, "input_records", job.input_records, "shuffle_bytes", job.shuffle_bytes);
}

auto distribution(const Distribution& of) {
  return [&of](JsonWriter& json) {
    write_value(json, object("total", of.total, "min", of.min, "median", of.median, "p95", of.p95, "max", of.max));
  };
}

auto seconds(const Distribution& nanoseconds) {
  return [&of = nanoseconds](JsonWriter& json) {
    const auto time = [](std::uint64_t count) { return static_cast<double>(count) / 1e9; };
    write_value(json, object("total", time(of.total), "min", time(of.min), "median", time(of.median), "p95", time(of.p95), "max",
                             time(of.max)));
  };
}

void write_usage(JsonWriter& json, const master::StageStatus& stage) {
  const master::StageUsage& usage = stage.usage;
  const master::StageAttempts& attempts = usage.attempts;
  const master::TaskFigures<Distribution>& figures = usage.figures;
  members(json, "attempts",
          object("first", attempts.first, "retried", attempts.retried, "speculative", stage.speculative, "finished",
                 attempts.finished, "failed", attempts.failed, "killed", attempts.killed, "lost", attempts.lost),
          "input_bytes", stage.input_bytes, "shuffle_bytes", stage.shuffle_bytes, "task_seconds",
          object("read", in_seconds(usage.phases.read), "shuffle", in_seconds(usage.phases.shuffle), "compute",
                 in_seconds(usage.phases.compute), "write", in_seconds(usage.phases.write), "cpu", in_seconds(usage.cpu)),
          "peak_task_memory_bytes", usage.peak_memory, "task_figures",
          object("seconds", seconds(figures.nanoseconds), "input_bytes", distribution(figures.input_bytes), "shuffle_read_bytes",
                 distribution(figures.shuffle_read_bytes), "shuffle_bytes", distribution(figures.shuffle_bytes), "output_bytes",
                 distribution(figures.output_bytes), "spilled_bytes", distribution(figures.spilled_bytes)));
}

void write_shuffle(JsonWriter& json, const master::JobStatus& job, const master::StageStatus& stage) {
  if (job.shuffle_replicas > 1)
    members(json, "replicas", stage.replicas, "replicas_abandoned", stage.replicas_abandoned, "replicas_used", stage.replicas_used);
  if (stage.predicted_shuffle_bytes > 0)
    members(json, "predicted_shuffle_bytes", stage.predicted_shuffle_bytes, "predicted_largest_partition_bytes",
            stage.predicted_largest_partition);
  if (stage.rounds_evicted > 0)
    members(json, "rounds_deferred", stage.rounds_deferred, "deferred_bytes", stage.bytes_deferred, "rounds_evicted",
            stage.rounds_evicted, "rounds_returned", stage.rounds_returned);
}

void write_stage(JsonWriter& json, const master::JobStatus& job, const master::StageStatus& stage, Duration now) {
  const master::StageUsage& usage = stage.usage;
  members(json, "id", stage.id.value(), "name", stage.name, "tasks", stage.tasks, "finished", stage.finished, "running",
          stage.running, "failed_attempts", stage.failed_attempts, "speculative_attempts", stage.speculative, "speculative_won",
          stage.speculative_won, "tasks_in_two_attempts", stage.speculating, "state", stage_state(job, stage), "reason",
          job.state == master::JobState::running ? stage.reason : "");
  if (usage.attempts.first > 0)
    members(json, "began_seconds", in_seconds(usage.began - job.submitted), "seconds", in_seconds(stage_age(job, stage, now)));
  write_usage(json, stage);
  client::add_bad_records(json, usage.bad_records);
  if (usage.accelerated > 0) members(json, "accelerated_attempts", usage.accelerated);
  if (stage.estimate.predicted > Duration(0))
    members(json, "predicted_task_seconds", in_seconds(stage.estimate.predicted), "predicted_by", name_of(stage.estimate.source));
  if (stage.estimate.mean > Duration(0)) members(json, "mean_task_seconds", in_seconds(stage.estimate.mean));
  if (stage.left > Duration(0)) members(json, "seconds_left", in_seconds(stage.left));
  write_shuffle(json, job, stage);
}

}  // namespace

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

std::string jobs_json(const client::JobList& jobs) {
  return json_line(objects(jobs.jobs, [&](JsonWriter& json, const master::JobStatus& job) { write_job(json, job, jobs.now); }));
}

std::string job_json(const master::JobStatus& job, Duration now) {
  JsonWriter json;
  json.begin_object();
  write_job(json, job, now);
  members(json, "prefetch", job.prefetch);
  client::add_lost_workers(json, job);
  members(json, "stages",
          objects(job.stages, [&](JsonWriter& each, const master::StageStatus& stage) { write_stage(each, job, stage, now); }));
  return json.end_object().text() + "\n";
}

std::string counters_json(const master::JobStatus& job) { return json_line(job.counters); }

std::string explanation_json(const master::JobExplanation& job) {
  const auto waiting = [&job](JsonWriter& json, const master::WaitingTasks& group) {
    members(json, "stage", group.stage.value(), "name", group.stage_name, "tasks", group.tasks, "kind", why_name(group.why),
            "reason", group.reason);
    if (group.since) members(json, "seconds_ago", in_seconds(job.now - *group.since));
  };
  const auto estimate = [](JsonWriter& json, const master::UsedEstimate& used) {
    members(json, "stage", used.stage.value(), "name", used.stage_name, "task_seconds", in_seconds(used.duration), "source",
            name_of(used.source), "basis", used.basis);
  };
  return json_line(object("id", job.id.value(), "name", job.name, "state", name_of(job.state), "summary", job.summary, "running",
                          job.running, "finished", job.finished, "tasks_in_two_attempts", job.speculating, "stragglers_waiting",
                          job.straggling, "waiting", objects(job.waiting, waiting), "estimates", objects(job.estimates, estimate)));
}

std::string logs_json(const std::vector<client::JobLog>& logs) {
  return json_line(objects(logs, [](JsonWriter& json, const client::JobLog& log) {
    members(json, "node", log.node, "driver", log.driver, "error", log.error, "text", as_chars(log.text.view()));
  }));
}

std::string submitted_json(std::uint64_t job) { return json_line(object("id", job)); }
std::string killed_json(std::uint64_t job) { return json_line(object("id", job, "killed", true)); }

}  // namespace weft::tools

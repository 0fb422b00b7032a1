#include "engine/cli/job_text.hpp"

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/cli/table.hpp"
#include "engine/client/job_summary.hpp"

namespace weft::cli {

namespace {

const char* state_name(master::JobState state) {
  switch (state) {
    case master::JobState::running:
      return "running";
    case master::JobState::finished:
      return "finished";
    case master::JobState::failed:
      return "failed";
    case master::JobState::killed:
      return "killed";
  }
  return "unknown";
}

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
  }
  return "unknown";
}

Duration age(const master::JobStatus& job, Duration now) {
  return (job.state == master::JobState::running ? now : job.ended) - job.submitted;
}

void write_job(JsonWriter& json, const master::JobStatus& job, Duration now) {
  json.begin_object().member("id", job.id.value()).member("name", job.name).member("user", job.user).member("pool", job.pool);
  json.member("state", state_name(job.state)).member("error", job.error);
  json.member("submitted_seconds_ago", in_seconds(now - job.submitted)).member("seconds", in_seconds(age(job, now)));
  json.member("priority", job.priority);
  if (job.shuffle_replicas > 1) json.member("shuffle_replicas", job.shuffle_replicas);
  if (job.deadline)
    json.member("deadline_seconds_left", in_seconds(*job.deadline - (job.state == master::JobState::running ? now : job.ended)));
  json.member("input_bytes", job.input_bytes).member("input_records", job.input_records).member("shuffle_bytes", job.shuffle_bytes);
}

std::string stage_state(const master::StageStatus& stage) {
  if (stage.finished == stage.tasks) return "done";
  if (stage.running > 0) return "running";
  return stage.waiting ? "waiting for its input" : "pending";
}

/// "3, 1 won, 1 running": launched at tasks that took long, and what became of them.
std::string second_attempts(const master::StageStatus& stage) {
  std::string text = std::to_string(stage.speculative);
  if (stage.speculative_won > 0) text += fmt::format(", {} won", stage.speculative_won);
  if (stage.racing > 0) text += fmt::format(", {} running", stage.racing);
  return text;
}

/// "3 MiB", and while its maps run "of about 12 MiB".
std::string shuffled(const master::StageStatus& stage) {
  std::string text = human_bytes(stage.shuffle_bytes);
  if (stage.predicted_shuffle_bytes > 0) text += fmt::format(" of about {}", human_bytes(stage.predicted_shuffle_bytes));
  if (stage.rounds_held_back > 0)
    text += fmt::format(", {} rounds of {} out of memory", stage.rounds_held_back, human_bytes(stage.bytes_held_back));
  return text;
}

/// "two copies of map outputs: 18 second ones are there, …"; of all its shuffles. Of a job that is over none are.
std::string copies_line(const master::JobStatus& job) {
  std::uint32_t copies = 0, left = 0, used = 0;
  for (const master::StageStatus& stage : job.stages) copies += stage.copies, left += stage.copies_left, used += stage.copies_used;
  std::string text = job.state == master::JobState::running
                         ? fmt::format("two copies of map outputs: {} second ones are there", copies)
                         : std::string("map outputs were kept in two copies");
  if (left > 0) text += fmt::format(", {} could not be made", left);
  if (used > 0) text += fmt::format(", {} outputs were lost and their copies used", used);
  return text + "\n";
}

/// "brought 12 MiB to tasks ahead, which read 10 MiB of it; 4 MiB went to disk as 1 MiB, 4 MiB came back"
std::string ahead_line(const master::JobStatus& job) {
  const shuffle::PrefetchStats& ahead = job.prefetch;
  std::string text = fmt::format("brought {} to tasks ahead, which read {} of it", human_bytes(ahead.prefetched_bytes),
                                 human_bytes(ahead.read_bytes));
  if (ahead.wasted_bytes > 0) text += fmt::format(", and {} in vain", human_bytes(ahead.wasted_bytes));
  if (ahead.evicted_bytes > 0)
    text += fmt::format("; {} went to disk as {}, {} came back", human_bytes(ahead.evicted_bytes),
                        human_bytes(ahead.evicted_file_bytes), human_bytes(ahead.returned_bytes));
  return text + "\n";
}

}  // namespace

void add_ahead(JsonWriter& json, const shuffle::PrefetchStats& ahead) {
  json.begin_object().member("brought_bytes", ahead.prefetched_bytes).member("read_bytes", ahead.read_bytes);
  json.member("unread_bytes", ahead.wasted_bytes).member("evicted_bytes", ahead.evicted_bytes);
  json.member("evicted_file_bytes", ahead.evicted_file_bytes).member("returned_bytes", ahead.returned_bytes).end_object();
}

std::string jobs_table(const client::JobList& jobs) {
  Table table({"JOB", "NAME", "USER", "STATE", "TIME", "INPUT", "SHUFFLED", "ERROR"});
  for (const master::JobStatus& job : jobs.jobs) {
    table.add({std::to_string(job.id.value()), job.name, job.user, state_name(job.state), human_duration(age(job, jobs.now)),
               human_bytes(job.input_bytes), human_bytes(job.shuffle_bytes), job.error});
  }
  return table.text();
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

std::string job_text(const master::JobStatus& job, Duration now) {
  std::string text = fmt::format("job {} {} ({}), user {}, {} for {}\n", job.id.value(), job.name, state_name(job.state), job.user,
                                 job.state == master::JobState::running ? "running" : "ran", human_duration(age(job, now)));
  if (!job.pool.empty()) text += fmt::format("pool {}\n", job.pool);
  if (job.deadline) {
    const Duration left = *job.deadline - (job.state == master::JobState::running ? now : job.ended);
    text += left >= Duration(0) ? fmt::format("deadline: {} to spare\n", human_duration(left))
                                : fmt::format("deadline: missed by {}\n", human_duration(-left));
  }
  if (!job.error.empty()) text += fmt::format("error: {}\n", escaped(job.error));
  text += fmt::format("read {} in {} records, shuffled {}\n\n", human_bytes(job.input_bytes), job.input_records,
                      human_bytes(job.shuffle_bytes));
  if (const std::string lost = client::lost_workers_text(job); !lost.empty()) text.insert(text.size() - 1, lost + "\n");
  if (job.prefetch.prefetched_bytes > 0) text.insert(text.size() - 1, ahead_line(job));
  if (job.shuffle_replicas > 1) text.insert(text.size() - 1, copies_line(job));
  Table table({"STAGE", "NAME", "TASKS", "DONE", "RUNNING", "FAILED ATTEMPTS", "SECOND ATTEMPTS", "SHUFFLED", "STATE", "REASON"});
  for (const master::StageStatus& stage : job.stages) {
    table.add({std::to_string(stage.id.value()), stage.name, std::to_string(stage.tasks), std::to_string(stage.finished),
               std::to_string(stage.running), std::to_string(stage.failed_attempts), second_attempts(stage), shuffled(stage),
               stage_state(stage), stage.reason});
  }
  return text + table.text();
}

std::string job_json(const master::JobStatus& job, Duration now) {
  JsonWriter json;
  write_job(json, job, now);
  json.key("ahead");
  add_ahead(json, job.prefetch);
  client::add_lost_workers(json, job);
  json.key("stages").begin_array();
  for (const master::StageStatus& stage : job.stages) {
    json.begin_object().member("id", stage.id.value()).member("name", stage.name).member("tasks", stage.tasks);
    json.member("finished", stage.finished).member("running", stage.running).member("failed_attempts", stage.failed_attempts);
    json.member("speculative_attempts", stage.speculative).member("speculative_won", stage.speculative_won);
    json.member("tasks_in_two_attempts", stage.racing);
    json.member("state", stage_state(stage)).member("reason", stage.reason);
    json.member("input_bytes", stage.input_bytes).member("shuffle_bytes", stage.shuffle_bytes);
    if (job.shuffle_replicas > 1)
      json.member("copies", stage.copies).member("copies_left_out", stage.copies_left).member("copies_used", stage.copies_used);
    if (stage.predicted_shuffle_bytes > 0)
      json.member("predicted_shuffle_bytes", stage.predicted_shuffle_bytes)
          .member("predicted_largest_partition_bytes", stage.predicted_largest_partition);
    if (stage.rounds_evicted > 0)
      json.member("rounds_held_back", stage.rounds_held_back)
          .member("held_back_bytes", stage.bytes_held_back)
          .member("rounds_evicted", stage.rounds_evicted)
          .member("rounds_returned", stage.rounds_returned);
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string counters_table(const master::JobStatus& job) {
  Table table({"COUNTER", "VALUE"});
  for (const auto& [name, value] : job.counters) table.add({name, std::to_string(value)});
  return table.text();
}

std::string counters_json(const master::JobStatus& job) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : job.counters) json.member(name, value);
  json.end_object();
  return json.text() + "\n";
}

std::string explanation_text(const client::Explanation& explanation) {
  const master::JobExplanation& job = explanation.job;
  std::string text = fmt::format("job {} {} ({}): {}\n", job.id.value(), job.name, state_name(job.state), escaped(job.summary));
  if (job.waiting.empty()) return text;
  Table table({"STAGE", "NAME", "WAITING", "WHY", "SINCE"});
  for (const master::WaitingTasks& group : job.waiting) {
    const auto since = group.since ? human_duration(explanation.now - *group.since) + " ago" : "";
    table.add({std::to_string(group.stage.value()), group.stage_name, std::to_string(group.tasks), group.reason, since});
  }
  return text + "\n" + table.text();
}

std::string explanation_json(const client::Explanation& explanation) {
  const master::JobExplanation& job = explanation.job;
  JsonWriter json;
  json.begin_object().member("id", job.id.value()).member("name", job.name).member("state", state_name(job.state));
  json.member("summary", job.summary).member("running", job.running).member("finished", job.finished);
  json.member("tasks_in_two_attempts", job.racing).member("stragglers_waiting", job.straggling).key("waiting").begin_array();
  for (const master::WaitingTasks& group : job.waiting) {
    json.begin_object().member("stage", group.stage.value()).member("name", group.stage_name).member("tasks", group.tasks);
    json.member("kind", why_name(group.why)).member("reason", group.reason);
    if (group.since) json.member("seconds_ago", in_seconds(explanation.now - *group.since));
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string logs_text(const std::vector<client::JobLog>& logs) {
  std::string text;
  for (const client::JobLog& log : logs) {
    text += fmt::format("== {} ==\n", log.node);
    text += log.error.empty() ? std::string(as_chars(log.text.view())) : fmt::format("({})\n", log.error);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

std::string logs_json(const std::vector<client::JobLog>& logs) {
  JsonWriter json;
  json.begin_array();
  for (const client::JobLog& log : logs)
    json.begin_object().member("node", log.node).member("error", log.error).member("text", as_chars(log.text.view())).end_object();
  json.end_array();
  return json.text() + "\n";
}

}  // namespace weft::cli

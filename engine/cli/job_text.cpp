#include "engine/cli/job_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/cli/table.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/expectations.hpp"

namespace weft::cli {

namespace {

/// "3, 1 won, 1 running": speculative attempts launched, and what became of them.
std::string speculative(const master::StageStatus& stage) {
  std::string text = std::to_string(stage.speculative);
  if (stage.speculative_won > 0) text += fmt::format(", {} won", stage.speculative_won);
  if (stage.speculating > 0) text += fmt::format(", {} running", stage.speculating);
  return text;
}

/// "3 MiB", while its maps run "of about 12 MiB", and "2 rounds of 4 MiB deferred" when these wait for memory.
std::string shuffled(const master::StageStatus& stage) {
  std::string text = human_bytes(stage.shuffle_bytes);
  if (stage.predicted_shuffle_bytes > 0) text += fmt::format(" of about {}", human_bytes(stage.predicted_shuffle_bytes));
  if (stage.rounds_deferred > 0)
    text += fmt::format(", {} rounds of {} deferred", stage.rounds_deferred, human_bytes(stage.bytes_deferred));
  return text;
}

/// "12.3s: 10% read, 20% shuffle, 65% compute, 5% write", of the finished tasks together; without phases that took nothing.
std::string task_time(const runtime::TaskPhases& phases) {
  const Duration all = phases.read + phases.shuffle + phases.compute + phases.write;
  if (all <= Duration(0)) return "";
  std::string text = human_duration(all);
  char before = ':';
  const auto part = [&](Duration time, std::string_view name) {
    const double percent = 100 * in_seconds(time) / in_seconds(all);
    if (percent >= 0.5) text += fmt::format("{} {:.0f}% {}", std::exchange(before, ','), percent, name);
  };
  part(phases.read, "read");
  part(phases.shuffle, "shuffle");
  part(phases.compute, "compute");
  part(phases.write, "write");
  return text;
}

/// "1.2 s, predicted 1.1 s (history)": what a task took, and what was said before.
std::string mean_task(const master::StageEstimate& estimate) {
  std::string text = estimate.mean > Duration(0) ? human_duration(estimate.mean) : std::string("-");
  if (estimate.predicted > Duration(0))
    text += fmt::format(", predicted {} ({})", human_duration(estimate.predicted), name_of(estimate.source));
  return text;
}

/// "replicas of map outputs: 18 made, …", of all its shuffles. A job that is over has none.
std::string replicas_line(const master::JobStatus& job) {
  std::uint32_t made = 0, abandoned = 0, used = 0;
  for (const master::StageStatus& stage : job.stages) {
    made += stage.replicas;
    abandoned += stage.replicas_abandoned;
    used += stage.replicas_used;
  }
  std::string text = job.state == master::JobState::running ? fmt::format("replicas of map outputs: {} made", made)
                                                            : std::string("map outputs had replicas");
  if (abandoned > 0) text += fmt::format(", {} could not be made", abandoned);
  if (used > 0) text += fmt::format(", {} outputs were lost and read from their replicas", used);
  return text + "\n";
}

/// "prefetched 12 MiB: tasks read 10 MiB, 2 MiB were wasted; 4 MiB were evicted to 1 MiB on disk, 4 MiB of them came back"
std::string prefetch_line(const shuffle::PrefetchStats& stats) {
  std::string text =
      fmt::format("prefetched {}: tasks read {}", human_bytes(stats.prefetched_bytes), human_bytes(stats.read_bytes));
  if (stats.wasted_bytes > 0) text += fmt::format(", {} were wasted", human_bytes(stats.wasted_bytes));
  if (stats.evicted_bytes > 0)
    text += fmt::format("; {} were evicted to {} on disk, {} of them came back", human_bytes(stats.evicted_bytes),
                        human_bytes(stats.evicted_file_bytes), human_bytes(stats.returned_bytes));
  return text + "\n";
}

}  // namespace

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

Duration age(const master::JobStatus& job, Duration now) {
  return (job.state == master::JobState::running ? now : job.ended) - job.submitted;
}

Duration time_to_deadline(const master::JobStatus& job, Duration now) {
  return *job.deadline - (job.state == master::JobState::running ? now : job.ended);
}

std::string stage_state(const master::StageStatus& stage) {
  if (stage.finished == stage.tasks) return "done";
  if (stage.running > 0) return "running";
  return stage.waiting ? "waiting for its input" : "pending";
}

std::string jobs_table(const client::JobList& jobs) {
  Table table({"JOB", "NAME", "USER", "STATE", "TIME", "INPUT", "SHUFFLED", "ERROR"});
  for (const master::JobStatus& job : jobs.jobs) {
    table.add({std::to_string(job.id.value()), job.name, job.user, state_name(job.state), human_duration(age(job, jobs.now)),
               human_bytes(job.input_bytes), human_bytes(job.shuffle_bytes), job.error});
  }
  return table.text();
}

std::string job_text(const master::JobStatus& job, Duration now) {
  std::string text =
      fmt::format("job {} {} ({}), user {}, {} for {}\n", job.id.value(), escaped(job.name), state_name(job.state), job.user,
                  job.state == master::JobState::running ? "running" : "ran", human_duration(age(job, now)));
  if (!job.pool.empty()) text += fmt::format("pool {}\n", job.pool);
  if (job.weight.value_or(1) != 1) text += fmt::format("weight {}\n", *job.weight);
  if (job.deadline) {
    const Duration left = time_to_deadline(job, now);
    text += left >= Duration(0) ? fmt::format("deadline: {} to spare\n", human_duration(left))
                                : fmt::format("deadline: missed by {}\n", human_duration(-left));
    if (job.state == master::JobState::running && job.expected) {
      if (job.expected->end > Duration(0))
        text += fmt::format("expected end: in {}\n", human_duration(std::max(job.expected->end - now, Duration(0))));
      text += fmt::format("outlook: {}\n", master::outlook_text(job));
    }
  }
  if (!job.error.empty()) text += fmt::format("error: {}\n", escaped(job.error));
  text += fmt::format("read {} in {} records, shuffled {}\n\n", human_bytes(job.input_bytes), job.input_records,
                      human_bytes(job.shuffle_bytes));
  if (const std::string lost = client::lost_workers_text(job); !lost.empty()) text.insert(text.size() - 1, lost + "\n");
  if (const std::string bad = client::bad_record_lines("job " + std::to_string(job.id.value()), job); !bad.empty())
    text.insert(text.size() - 1, bad);
  if (job.prefetch.prefetched_bytes > 0) text.insert(text.size() - 1, prefetch_line(job.prefetch));
  if (job.shuffle_replicas > 1) text.insert(text.size() - 1, replicas_line(job));
  Table table({"STAGE", "NAME", "TASKS", "DONE", "RUNNING", "FAILED ATTEMPTS", "SPECULATIVE", "SHUFFLED", "TASK TIME", "MEAN TASK",
               "STATE", "REASON"});
  for (const master::StageStatus& stage : job.stages) {
    table.add({std::to_string(stage.id.value()), stage.name, std::to_string(stage.tasks), std::to_string(stage.finished),
               std::to_string(stage.running), std::to_string(stage.failed_attempts), speculative(stage), shuffled(stage),
               task_time(stage.usage.phases), mean_task(stage.estimate), stage_state(stage), stage.reason});
  }
  return text + table.text();
}

std::string counters_table(const master::JobStatus& job) {
  Table table({"COUNTER", "VALUE"});
  for (const auto& [name, value] : job.counters) table.add({name, std::to_string(value)});
  return table.text();
}

std::string explanation_text(const master::JobExplanation& job) {
  std::string text =
      fmt::format("job {} {} ({}): {}\n", job.id.value(), escaped(job.name), state_name(job.state), escaped(job.summary));
  for (const master::UsedEstimate& one : job.estimates)
    text += fmt::format("stage {}: a task is taken to need {} ({}: {})\n", one.stage.value(), human_duration(one.duration),
                        name_of(one.source), one.basis);
  if (job.waiting.empty()) return text;
  Table table({"STAGE", "NAME", "WAITING", "WHY", "SINCE"});
  for (const master::WaitingTasks& group : job.waiting) {
    const auto since = group.since ? human_duration(job.now - *group.since) + " ago" : "";
    table.add({std::to_string(group.stage.value()), group.stage_name, std::to_string(group.tasks), group.reason, since});
  }
  return text + "\n" + table.text();
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

}  // namespace weft::cli

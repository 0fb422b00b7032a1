#include "engine/tools/display/job_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

/// "3, 1 won, 1 running": speculative attempts launched, those that won, and those that run.
std::string speculative(const master::StageStatus& stage) {
  std::string text = std::to_string(stage.speculative);
  if (stage.speculative_won > 0) text += fmt::format(", {} won", stage.speculative_won);
  if (stage.speculating > 0) text += fmt::format(", {} running", stage.speculating);
  return text;
}

/// "stage 0 shuffled 3 MiB of about 12 MiB" while its maps run, and "2 rounds of 4 MiB deferred" when these wait for memory. Empty
/// when there is no more to say than how much it shuffled.
std::string shuffle_line(const master::StageStatus& stage) {
  if (stage.predicted_shuffle_bytes == 0 && stage.rounds_deferred == 0) return "";
  std::string text = fmt::format("stage {} shuffled {}", stage.id.value(), human_bytes(stage.shuffle_bytes));
  if (stage.predicted_shuffle_bytes > 0) text += fmt::format(" of about {}", human_bytes(stage.predicted_shuffle_bytes));
  if (stage.rounds_deferred > 0)
    text += fmt::format(", {} rounds of {} deferred", stage.rounds_deferred, human_bytes(stage.bytes_deferred));
  return text + "\n";
}

/// "4 of 8, 3 running"
std::string tasks_text(const master::StageStatus& stage) {
  const std::string text = fmt::format("{} of {}", stage.finished, stage.tasks);
  return stage.running > 0 ? text + fmt::format(", {} running", stage.running) : text;
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

/// "1.2 s, predicted 1.1 s (history)": what a task took, and what was predicted.
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

/// "8, 2 retried, 1 failed": launched without speculative ones, and how those ended that did not finish.
std::string attempts_text(const master::StageAttempts& attempts) {
  std::string text = std::to_string(attempts.first + attempts.retried);
  for (const auto& [count, what] : {std::pair(attempts.retried, "retried"), std::pair(attempts.failed, "failed"),
                                    std::pair(attempts.killed, "killed"), std::pair(attempts.lost, "lost")})
    if (count > 0) text += fmt::format(", {} {}", count, what);
  return text;
}

/// How far the stages are. What is long, such as what a stage waits for, has a line below.
std::string stages_table(const master::JobStatus& job, Duration now) {
  TextTable table({"STAGE", "NAME", "STATE", "TASKS", "BEGAN", "TOOK", "SHUFFLED"});
  std::string lines;
  for (const master::StageStatus& stage : job.stages) {
    const bool begun = stage.usage.attempts.first > 0;
    table.row(stage.id.value(), stage.name, stage_state(job, stage), tasks_text(stage),
              begun ? "+" + human_duration(stage.usage.began - job.submitted) : std::string("-"),
              begun ? human_duration(stage_age(job, stage, now)) : std::string("-"), human_bytes(stage.shuffle_bytes));
    lines += shuffle_line(stage);
    if (job.state == master::JobState::running && !stage.reason.empty())
      lines += fmt::format("stage {}: {}\n", stage.id.value(), escaped(stage.reason));
  }
  return table.text() + lines;
}

/// What the attempts of the stages were and where their time went, of those that have any.
std::string attempts_table(const master::JobStatus& job) {
  TextTable table({"STAGE", "ATTEMPTS", "SPECULATIVE", "TASK TIME", "MEAN TASK"});
  bool any = false;
  for (const master::StageStatus& stage : job.stages) {
    if (stage.usage.attempts.first == 0 && stage.speculative == 0 && stage.estimate.predicted <= Duration(0) &&
        task_time(stage.usage.phases).empty())
      continue;
    any = true;
    table.row(stage.id.value(), attempts_text(stage.usage.attempts), speculative(stage), task_time(stage.usage.phases),
              mean_task(stage.estimate));
  }
  return any ? "\n" + table.text() : std::string();
}

/// What the finished tasks of each stage took, read and wrote; rows of zeros are left out. Empty when no task has finished.
std::string figures_table(const master::JobStatus& job) {
  TextTable table({"STAGE", "OF ITS TASKS", "TOTAL", "MIN", "MEDIAN", "95 %", "MAX"});
  bool any = false;
  const auto add = [&](const master::StageStatus& stage, const char* what, const Distribution& of, auto&& words) {
    if (of.max == 0) return;
    any = true;
    table.row(stage.id.value(), what, words(of.total), words(of.min), words(of.median), words(of.p95), words(of.max));
  };
  const auto time = [](std::uint64_t nanoseconds) { return human_duration(Duration(static_cast<std::int64_t>(nanoseconds))); };
  const auto bytes = [](std::uint64_t count) { return human_bytes(count); };
  for (const master::StageStatus& stage : job.stages) {
    const master::TaskFigures<Distribution>& figures = stage.usage.figures;
    add(stage, "time", figures.nanoseconds, time);
    add(stage, "read from files", figures.input_bytes, bytes);
    add(stage, "read from shuffles", figures.shuffle_read_bytes, bytes);
    add(stage, "written to shuffle", figures.shuffle_bytes, bytes);
    add(stage, "output", figures.output_bytes, bytes);
    add(stage, "spilled", figures.spilled_bytes, bytes);
  }
  return any ? "\n" + table.text() : std::string();
}

/// Those that have no line of their own.
std::string other_options(const master::JobStatus& job) {
  std::string text;
  for (const auto& [name, value] : job.options)
    if (name != "user" && name != "pool" && name != "weight" && name != "deadline")
      text += fmt::format(" --{} {}", name, printable(value));
  return text;
}

}  // namespace

std::string jobs_table(const client::JobList& jobs) {
  TextTable table({"JOB", "NAME", "USER", "STATE", "TIME", "INPUT", "SHUFFLED", "ERROR"});
  for (const master::JobStatus& job : jobs.jobs) {
    table.row(job.id.value(), client::shown_name(job), job.user, std::string(name_of(job.state)),
              human_duration(age(job, jobs.now)), human_bytes(job.input_bytes), human_bytes(job.shuffle_bytes), job.error);
  }
  return table.text();
}

std::string job_text(const master::JobStatus& job, Duration now) {
  std::string text =
      fmt::format("job {} {} ({}), user {}, {} for {}\n", job.id.value(), escaped(client::shown_name(job)), name_of(job.state),
                  job.user, job.state == master::JobState::running ? "running" : "ran", human_duration(age(job, now)));
  if (!job.pool.empty()) text += fmt::format("pool {}\n", job.pool);
  if (job.weight.value_or(1) != 1) text += fmt::format("weight {}\n", *job.weight);
  if (const std::string options = other_options(job); !options.empty()) text += fmt::format("options:{}\n", options);
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
  if (job.left > Duration(0)) text += fmt::format("left: about {}\n", human_duration(job.left));
  if (!job.error.empty()) text += fmt::format("error: {}\n", printable(job.error));
  text += fmt::format("read {} in {} records, shuffled {}\n\n", human_bytes(job.input_bytes), job.input_records,
                      human_bytes(job.shuffle_bytes));
  if (const std::string lost = client::lost_workers_text(job); !lost.empty()) text.insert(text.size() - 1, lost + "\n");
  if (const std::string bad = client::bad_record_lines("job " + std::to_string(job.id.value()), job); !bad.empty())
    text.insert(text.size() - 1, bad);
  if (job.prefetch.prefetched_bytes > 0) text.insert(text.size() - 1, prefetch_line(job.prefetch));
  if (job.shuffle_replicas > 1) text.insert(text.size() - 1, replicas_line(job));
  return text + stages_table(job, now) + attempts_table(job) + figures_table(job);
}

std::string counters_table(const master::JobStatus& job) {
  TextTable table({"COUNTER", "VALUE"});
  for (const auto& [name, value] : job.counters) table.row(name, value);
  return table.text();
}

std::string explanation_text(const master::JobExplanation& job) {
  std::string text =
      fmt::format("job {} {} ({}): {}\n", job.id.value(), escaped(job.name), name_of(job.state), escaped(job.summary));
  for (const master::UsedEstimate& one : job.estimates)
    text += fmt::format("stage {}: a task is taken to need {} ({}: {})\n", one.stage.value(), human_duration(one.duration),
                        name_of(one.source), one.basis);
  if (job.waiting.empty()) return text;
  TextTable table({"STAGE", "NAME", "WAITING", "WHY", "SINCE"});
  for (const master::WaitingTasks& group : job.waiting) {
    const auto since = group.since ? human_duration(job.now - *group.since) + " ago" : "";
    table.row(group.stage.value(), group.stage_name, group.tasks, group.reason, since);
  }
  return text + "\n" + table.text();
}

std::string title_of(const client::JobLog& log) { return log.driver ? "driver on " + log.node : log.node; }

std::string logs_text(const std::vector<client::JobLog>& logs) {
  std::string text;
  for (const client::JobLog& log : logs) {
    text += fmt::format("== {} ==\n", title_of(log));
    text += log.error.empty() ? std::string(as_chars(log.text.view())) : fmt::format("({})\n", log.error);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

}  // namespace weft::tools

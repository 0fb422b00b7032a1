#include "engine/tools/history/status.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "engine/master/core/stage_figures.hpp"

namespace weft::history {

namespace {

/// What is counted of a stage over its attempts.
struct Counting {
  std::set<std::uint32_t> launched, finished;  // tasks
  master::TaskFigures<QuantileSketch> sketches{};
};

void count_attempt(const LoggedJob& job, const LoggedAttempt& attempt, master::StageStatus& stage, Counting& counting) {
  master::StageAttempts& attempts = stage.usage.attempts;
  stage.usage.began = counting.launched.empty() ? attempt.launched : std::min(stage.usage.began, attempt.launched);
  const bool first = counting.launched.insert(attempt.task).second;
  if (attempt.speculative)
    ++stage.speculative;
  else
    ++(first ? attempts.first : attempts.retried);
  if (attempt.fate == Fate::finished) ++attempts.finished;
  if (attempt.fate == Fate::failed) ++attempts.failed;
  if (attempt.fate == Fate::killed) ++attempts.killed;
  if (attempt.fate == Fate::lost) ++attempts.lost;
  if (attempt.fate == Fate::running && job.status.state == JobState::running) ++stage.running;
  if (attempt.fate == Fate::failed || attempt.fate == Fate::lost) ++stage.failed_attempts;
}

/// A task that runs again because its output was lost is counted once, as its master does. False: the attempt does not count.
bool count_task(const LoggedAttempt& attempt, master::StageStatus& stage, Counting& counting) {
  if (attempt.fate != Fate::finished || !counting.finished.insert(attempt.task).second) return false;
  ++stage.finished;
  if (attempt.speculative) ++stage.speculative_won;
  stage.input_bytes += attempt.input_bytes;
  stage.shuffle_bytes += attempt.output_bytes;
  stage.usage.ended = std::max(stage.usage.ended, attempt.ended);
  stage.usage.phases += runtime::phases_of(attempt.usage, {attempt.shuffle_read, attempt.shuffle_write});
  stage.usage.cpu += attempt.usage.cpu;
  stage.usage.peak_memory = std::max(stage.usage.peak_memory, attempt.usage.peak_memory);
  stage.usage.bad_records.count += attempt.usage.bad_records.count;
  stage.estimate.mean += attempt.ended - attempt.launched;  // the sum, until all are counted
  auto& sketches = counting.sketches;
  sketches.nanoseconds.add(static_cast<std::uint64_t>((attempt.ended - attempt.launched).count()));
  sketches.input_bytes.add(attempt.input_bytes);
  sketches.shuffle_read_bytes.add(attempt.usage.shuffle_read_bytes);
  sketches.shuffle_bytes.add(attempt.output_bytes);
  sketches.output_bytes.add(std::max(attempt.usage.output_bytes, attempt.result_bytes));  // a written file returns its name
  sketches.spilled_bytes.add(attempt.usage.spilled_bytes);
  return true;
}

/// The master gives small partitions to one task, so a stage may have fewer tasks than its plan has. Those that were not launched
/// are assumed to be like those that were.
void count_tasks(const LoggedJob& job, master::StageStatus& stage) {
  std::map<std::uint32_t, std::uint32_t> partitions;  // by task
  for (const LoggedAttempt& attempt : job.attempts)
    if (attempt.stage == stage.id.value()) partitions[attempt.task] = attempt.partitions;
  std::uint32_t covered = 0;
  for (const auto& [task, read] : partitions) covered += read;
  const auto launched = static_cast<std::uint32_t>(partitions.size());
  if (covered == launched) {
    stage.tasks = std::max(stage.tasks, launched);
  } else {
    const std::uint64_t left = stage.tasks - std::min(stage.tasks, covered);
    stage.tasks = launched + static_cast<std::uint32_t>((left * launched + covered - 1) / covered);
  }
}

}  // namespace

master::JobStatus status_of(const LoggedJob& job) {
  master::JobStatus status = job.status;
  std::map<std::uint32_t, std::size_t> places;
  for (const master::LoggedStage& logged : job.stages) {
    places[logged.id] = status.stages.size();
    master::StageStatus& stage = status.stages.emplace_back();
    stage.id = StageId(logged.id);
    stage.name = logged.name;
    stage.tasks = logged.tasks;
  }
  std::vector<Counting> counting(status.stages.size());
  for (const LoggedAttempt& attempt : job.attempts) {
    const auto place = places.find(attempt.stage);
    if (place == places.end()) continue;
    count_attempt(job, attempt, status.stages[place->second], counting[place->second]);
    if (count_task(attempt, status.stages[place->second], counting[place->second])) status.input_records += attempt.input_records;
  }
  for (std::size_t i = 0; i < status.stages.size(); ++i) {
    master::StageStatus& stage = status.stages[i];
    stage.usage.figures = distributions(counting[i].sketches);
    count_tasks(job, stage);
    if (stage.finished > 0) stage.estimate.mean /= stage.finished;
    status.tasks.all += stage.tasks;
    status.tasks.finished += stage.finished;
    status.tasks.running += stage.running;
    status.input_bytes += stage.input_bytes;
    status.shuffle_bytes += stage.shuffle_bytes;
    if (stage.finished < stage.tasks) stage.usage.ended = Time(0);
  }
  return status;
}

}  // namespace weft::history

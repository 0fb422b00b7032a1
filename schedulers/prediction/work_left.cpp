#include "schedulers/prediction/work_left.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr double kShortest = 1e-6;  // seconds: nothing is taken to need no time

/// Mean seconds of the maps of a job, as far as they are known.
std::optional<double> map_length(const ClusterView& view, const JobInfo& job) {
  double sum = 0, tasks = 0;
  for (const auto& [id, stage] : job.stages) {
    if (stage.reads_shuffle || !stage.writes_shuffle) continue;
    const auto length = task_length(view, job, stage);
    if (!length) continue;
    const double count = std::max<double>(1, static_cast<double>(stage.tasks.size()));
    sum += *length * count;
    tasks += count;
  }
  return tasks > 0 ? std::optional(sum / tasks) : std::nullopt;
}

std::optional<double> measured_length(const StageInfo& stage) {
  if (stage.observed_count == 0) return std::nullopt;
  return in_seconds(stage.observed_total) / static_cast<double>(stage.observed_count);
}

}  // namespace

std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::optional<Time> oldest) {
  return task_length(view, job, stage, oldest, measured_length(stage));
}

std::optional<double> task_length(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::optional<Time> oldest,
                                  std::optional<double> measured) {
  std::optional<double> length = measured;
  if (!length) {
    if (const auto known = known_duration(stage)) {
      length = in_seconds(*known);
    } else if (stage.reads_shuffle) {
      if (const auto of_maps = map_length(view, job)) length = *of_maps * relative_reduce_cost(job).value;
    }
    if (length && oldest) length = std::max(*length, in_seconds(stage.worked(*oldest, view.now())));
  }
  return length ? std::optional(std::max(*length, kShortest)) : std::nullopt;
}

double part_left(double length, Time elapsed) { return std::clamp(1 - in_seconds(elapsed) / length, 0.0, 1.0); }

std::optional<PhaseLeft> stage_left(const ClusterView& view, const JobInfo& job, const StageInfo& stage) {
  std::optional<Time> oldest;
  const auto each_running = [&stage](auto&& visit) {
    if (stage.running == 0) return;
    for (const TaskInfo& task : stage.tasks)
      if (task.state == TaskState::running) visit(task);
  };
  if (stage.observed_count == 0)
    each_running([&](const TaskInfo& task) { oldest = std::min(oldest.value_or(task.launched), task.launched); });
  const auto length = task_length(view, job, stage, oldest);
  if (!length) return std::nullopt;
  PhaseLeft left;
  left.tasks = static_cast<double>(stage.tasks.size() - stage.finished);
  left.waiting = left.tasks - static_cast<double>(stage.running);
  double parts = left.waiting, most = left.waiting > 0 ? 1 : 0;
  each_running([&](const TaskInfo& task) {
    // Readers that wait for maps have done nothing yet.
    const bool waits = stage.reads_shuffle && !stage.inputs_complete;
    const double part = waits ? 1 : part_left(*length, stage.worked(task.launched, view.now()));
    parts += part;
    most = std::max(most, part);
  });
  left.work = parts * *length;
  left.longest = most * *length;
  return left;
}

std::map<StageId, std::size_t> phases_of(const JobInfo& job) {
  std::map<StageId, std::size_t> phases;
  for (const auto& [id, stage] : job.stages) {  // parents have smaller ids
    if (stage.complete()) continue;
    std::size_t& phase = phases[id];
    for (const StageId parent : stage.parents) {
      if (const auto before = phases.find(parent); before != phases.end()) phase = std::max(phase, before->second + 1);
    }
  }
  return phases;
}

double WorkLeft::seconds() const {
  double sum = 0;
  for (const PhaseLeft& phase : phases) sum += phase.work;
  return sum;
}

WorkLeft work_left(const ClusterView& view, const JobInfo& job) {
  WorkLeft left;
  for (const auto& [id, phase] : phases_of(job)) {
    const auto of_stage = stage_left(view, job, job.stages.at(id));
    if (!of_stage) {
      ++left.unknown;
      continue;
    }
    if (left.phases.size() <= phase) left.phases.resize(phase + 1);
    PhaseLeft& sum = left.phases[phase];
    sum.work += of_stage->work;
    sum.tasks += of_stage->tasks;
    sum.longest = std::max(sum.longest, of_stage->longest);
    sum.waiting += of_stage->waiting;
  }
  return left;
}

double seconds_with(std::span<const PhaseLeft> phases, double slots) {
  double seconds = 0;
  for (const PhaseLeft& phase : phases) {
    if (phase.work <= 0) continue;
    const double useful = std::min(slots, phase.tasks);
    if (useful <= 0) return std::numeric_limits<double>::infinity();
    seconds += std::max(phase.longest, phase.work / useful);
  }
  return seconds;
}

double slots_needed(std::span<const PhaseLeft> phases, double seconds) {
  if (phases.empty() || phases.front().work <= 0) return phases.size() > 1 ? slots_needed(phases.subspan(1), seconds) : 0;
  const PhaseLeft& now = phases.front();
  const std::span<const PhaseLeft> later = phases.subspan(1);
  const double most = kMostWaves * std::max(1.0, now.tasks);
  const auto enough = [&](double slots) { return now.work / slots + seconds_with(later, slots) <= seconds; };
  if (seconds <= 0 || !enough(most)) return most;
  if (later.empty()) return now.work / seconds;
  double low = 0, high = most;  // `high` is enough
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

double slots_elsewhere(double needed, double there, double slowdown) { return std::max(0.0, slowdown * (needed - there)); }

}  // namespace weft::schedulers

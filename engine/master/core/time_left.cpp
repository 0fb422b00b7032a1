#include "engine/master/core/time_left.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::master {

namespace {

using schedulers::PhaseLeft;
using schedulers::TaskState;

constexpr double kLongest = 1e9;  // seconds

/// What is known is never 0.
Time to_time(double seconds) { return std::max(Time(1), Time(std::llround(std::min(seconds, kLongest) * 1e9))); }

double bytes_read(const JobRecord& job, const StageRecord& stage, std::uint32_t task) {
  double bytes = 0;
  for (const auto& input : shaped_task_spec(stage.plan, stage.info->bounds, stage.splits, job.inputs(), task).inputs)
    bytes += static_cast<double>(input.bytes);
  return bytes;
}

/// Of each task. Empty: not known.
const std::vector<double>& task_bytes(const JobRecord& job, const StageRecord& stage) {
  const schedulers::StageInfo& info = *stage.info;
  std::vector<double>& bytes = stage.task_bytes;
  if (info.reads_shuffle && !info.inputs_complete) {
    bytes.clear();
  } else if (bytes.size() != info.tasks.size()) {
    bytes.clear();
    for (std::uint32_t task = 0; task < info.tasks.size(); ++task)
      bytes.push_back(info.reads_shuffle ? bytes_read(job, stage, task) : static_cast<double>(info.tasks[task].input_bytes));
  }
  return bytes;
}

/// Of one byte, where the bytes of tasks are known: `length` is the mean of the tasks that have ended, or else of all.
std::optional<double> seconds_of_byte(const schedulers::StageInfo& info, const std::vector<double>& bytes, double length) {
  double sum = 0, tasks = 0;
  for (std::uint32_t task = 0; task < bytes.size(); ++task) {
    if (info.observed_count > 0 && info.tasks[task].state != TaskState::finished) continue;
    sum += bytes[task];
    ++tasks;
  }
  return sum > 0 ? std::optional(length * tasks / sum) : std::nullopt;
}

std::optional<PhaseLeft> stage_left(const schedulers::ClusterView& view, const JobRecord& job, const StageRecord& stage) {
  const schedulers::StageInfo& info = *stage.info;
  const auto length = schedulers::task_length(view, *job.info, info);
  if (!length) return std::nullopt;
  const std::vector<double>& bytes = task_bytes(job, stage);
  const auto of_byte = seconds_of_byte(info, bytes, *length);
  PhaseLeft left;
  for (std::uint32_t index = 0; index < info.tasks.size(); ++index) {
    const schedulers::TaskInfo& task = info.tasks[index];
    if (task.state == TaskState::finished) continue;
    double seconds = of_byte ? *of_byte * bytes[index] : *length;
    const bool works = task.state == TaskState::running && (!info.reads_shuffle || info.inputs_complete);
    if (works) seconds = std::max(0.0, seconds - in_seconds(info.worked(task.launched, view.now())));
    left.work += seconds;
    left.longest = std::max(left.longest, seconds);
    ++left.tasks;
  }
  return left;
}

/// Slots that the job had in the mean since its first task began, or has now.
double parallelism(const schedulers::ClusterView& view, const JobRecord& job) {
  double worked = 0;
  Time began = view.now();
  for (const auto& [id, stage] : job.stages) {
    if (stage.usage.began == Time(0)) continue;
    began = std::min(began, stage.usage.began);
    worked += in_seconds(stage.info->observed_total);
    if (stage.info->running == 0) continue;
    for (const schedulers::TaskInfo& task : stage.info->tasks)
      if (task.state == TaskState::running) worked += in_seconds(stage.info->worked(task.launched, view.now()));
  }
  const double passed = in_seconds(view.now() - began);
  return std::max({1.0, static_cast<double>(job.info->running), passed > 0 ? worked / passed : 0});
}

}  // namespace

void add_time_left(const schedulers::ClusterView& view, const JobRecord& job, JobStatus& status) {
  std::vector<PhaseLeft> phases;
  const double slots = parallelism(view, job);
  bool known = true;
  for (const auto& [id, phase] : schedulers::phases_of(*job.info)) {
    const auto of_stage = stage_left(view, job, job.stages.at(id));
    known = known && of_stage;
    if (!of_stage) continue;
    const auto shown = std::ranges::find(status.stages, id, &StageStatus::id);
    if (shown != status.stages.end()) shown->left = to_time(schedulers::seconds_with(std::span(&*of_stage, 1), slots));
    phases.resize(std::max(phases.size(), phase + 1));
    PhaseLeft& sum = phases[phase];
    sum.work += of_stage->work;
    sum.tasks += of_stage->tasks;
    sum.longest = std::max(sum.longest, of_stage->longest);
  }
  if (known && !phases.empty()) status.left = to_time(schedulers::seconds_with(phases, slots));
}

}  // namespace weft::master

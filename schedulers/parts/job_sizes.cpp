#include "schedulers/parts/job_sizes.hpp"

#include <algorithm>
#include <optional>

#include "base/clock.hpp"
#include "schedulers/prediction/work_left.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr double kRemembered = 200;  // tasks, about

std::size_t kind_of(const StageInfo& stage) { return stage.reads_shuffle ? 1 : 0; }

}  // namespace

void JobSizes::on_event(const ClusterView& view, const Notice& notice) {
  if (notice.kind != Notice::Kind::task_finished) return;
  const StageInfo* stage = view.stage(notice.job, notice.stage);
  if (stage == nullptr || notice.task >= stage->tasks.size()) return;
  const TaskInfo& task = stage->tasks[notice.task];
  Mean& mean = others_.at(kind_of(*stage));
  mean.count = std::min(mean.count + 1, kRemembered);
  mean.seconds += (in_seconds(stage->worked(task.launched, task.ended)) - mean.seconds) / mean.count;
}

JobSize JobSizes::of(const ClusterView& view, const JobInfo& job) const {
  JobSize size;
  std::optional<double> unknown_reads;  // seconds, of all stages that read shuffles and are not known themselves
  for (const auto& [id, stage] : job.stages) {
    const double otherwise = others_.at(kind_of(stage)).seconds;
    const bool guessed = stage.reads_shuffle && stage.observed_count == 0 && !known_duration(stage);
    if (guessed && !unknown_reads) unknown_reads = task_length(view, job, stage).value_or(otherwise);
    const double seconds = guessed ? *unknown_reads : task_length(view, job, stage).value_or(otherwise);
    const double each = seconds * dominant_share(stage.demand, view.capacity());
    size.all += each * static_cast<double>(stage.tasks.size());
    size.left += each * static_cast<double>(stage.tasks.size() - stage.finished - stage.running);
  }
  return size;
}

}  // namespace weft::schedulers

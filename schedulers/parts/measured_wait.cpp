#include "schedulers/parts/measured_wait.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace weft::schedulers {

namespace {

constexpr double kRemembered = 50;  // tasks, about
constexpr double kEnough = 3;       // tasks: fewer say nothing
constexpr double kAll = 1e9;        // tasks
constexpr Time kLongest = std::chrono::seconds(15);

}  // namespace

void MeasuredWait::Mean::add(double more, double most) {
  count = std::min(count + 1, most);
  seconds += (more - seconds) / count;
}

Result<void> MeasuredWait::start(const ClusterView&, Part* before) {
  if (const auto* old = dynamic_cast<const MeasuredWait*>(before)) *this = *old;
  return {};
}

void MeasuredWait::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  const TaskId task{notice.job, notice.stage, notice.task};
  switch (notice.kind) {
    case Kind::task_launched:
      last_ = task;
      return;
    case Kind::task_finished:
    case Kind::task_failed:
    case Kind::task_preempted:
      if (const auto found = running_.find(task); found != running_.end()) {
        if (notice.kind == Kind::task_finished) ended(view, task, found->second);
        running_.erase(found);
      }
      return;
    case Kind::job_ended:
      waits_.erase(notice.job);
      erase_job(near_, notice.job);
      std::erase_if(running_, [&notice](const auto& entry) { return entry.first.job == notice.job; });
      return;
    default:
      return;
  }
}

void MeasuredWait::ended(const ClusterView& view, const TaskId& id, Locality locality) {
  const StageInfo* stage = view.stage(id.job, id.stage);
  if (stage == nullptr || id.index >= stage->tasks.size()) return;
  const TaskInfo& task = stage->tasks[id.index];
  const double seconds = in_seconds(stage->worked(task.launched, task.ended));
  Mean& near = near_[{id.job, id.stage}];
  if (locality == Locality::node) return near.add(seconds, kAll);
  if (near.count < kEnough) return;
  longer_.at(stage->reads_shuffle ? 1 : 0).at(locality == Locality::rack ? 0 : 1).add(seconds - near.seconds, kRemembered);
}

Time MeasuredWait::longer(bool reads_shuffle, Locality locality) const {
  if (locality == Locality::node) return Time(0);
  const Mean& mean = longer_.at(reads_shuffle ? 1 : 0).at(locality == Locality::rack ? 0 : 1);
  if (mean.count < kEnough) return Time(0);
  return std::min(kLongest, std::chrono::duration_cast<Time>(std::chrono::duration<double>(std::max(0.0, mean.seconds))));
}

/// How long a job with this wait skips nodes that are as far as that.
Time MeasuredWait::until(const JobInfo& job, const Wait& wait, Locality locality) const {
  if (wait.level >= locality) return Time(0);
  Time longest{0};
  for (const StageId id : job.runnable) longest = std::max(longest, longer(job.stage(id)->reads_shuffle, locality));
  return longest;
}

Locality MeasuredWait::allowed(const ClusterView& view, const JobInfo& job) {
  const Wait& wait = waits_[job.id];
  const Time waited = wait.since ? view.now() - *wait.since : Time(0);
  if (waited >= until(job, wait, Locality::any)) return Locality::any;
  return waited >= until(job, wait, Locality::rack) ? Locality::rack : Locality::node;
}

bool MeasuredWait::skipped(const ClusterView& view, const JobInfo& job, std::size_t, Decisions& decisions) {
  Wait& wait = waits_[job.id];
  if (!wait.since) wait.since = view.now();
  const Locality next = allowed(view, job) == Locality::node ? Locality::rack : Locality::any;
  decisions.wake_at(*wait.since + until(job, wait, next));
  return false;
}

void MeasuredWait::launched(const ClusterView&, const JobInfo& job, Locality locality) {
  waits_[job.id] = {locality, std::nullopt};
  if (last_ && last_->job == job.id) running_[*last_] = locality;
  last_.reset();
}

}  // namespace weft::schedulers

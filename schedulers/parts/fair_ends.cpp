#include "schedulers/parts/fair_ends.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"

namespace weft::schedulers {

void FairEnds::start(const ClusterView& view, const FairEnds* before) {
  if (before != nullptr) {
    sizes_ = before->sizes_;
    sharing_ = before->sharing_;
  }
  now_ = view.now();
  capacity_ = view.capacity();
  for (const auto& [id, job] : view.jobs()) arrive(view, job);
}

void FairEnds::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  sharing_.advance(rate_ * in_seconds(view.now() - now_));
  now_ = view.now();
  sizes_.on_event(view, notice);
  if (notice.kind == Kind::job_arrived) arrive(view, *view.job(notice.job));
  if (notice.kind == Kind::job_ended) end_job(notice.job);
  if (notice.kind == Kind::job_changed) change(view, notice.job);
}

bool FairEnds::refresh(const ClusterView& view) {
  if (view.capacity() == capacity_) return false;
  capacity_ = view.capacity();
  for (auto& [id, job] : jobs_) change(view, id);
  return true;
}

double FairEnds::rank(JobId job) const {
  constexpr double kLeast = 1e-9;  // of work: no job has none
  const JobSize& of = size(job);
  const double until_end = until(job);
  if (until_end <= 0) return -1 / (of.left + kLeast);
  return until_end * (of.left + kLeast) / (of.all + kLeast);
}

std::vector<JobId> FairEnds::order(const ClusterView& view) const {
  std::vector<std::pair<double, JobOrder>> ranked;
  for (const auto& [id, job] : jobs_) {
    const JobInfo& info = *view.job(id);
    ranked.emplace_back(rank(id), JobOrder{info.priority, info.submitted, id});
  }
  std::ranges::sort(ranked);
  std::vector<JobId> order;
  for (const auto& [rank, job] : ranked) order.push_back(job.id);
  return order;
}

void FairEnds::arrive(const ClusterView& view, const JobInfo& job) {
  const std::string& group = job.pool.empty() ? job.user : job.pool;
  sharing_.add(job.id, {group, weights_.of(group), job.hints.weight, job.priority});
  jobs_[job.id] = {};
  change(view, job.id);
}

void FairEnds::change(const ClusterView& view, JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const JobInfo& info = *view.job(id);
  Job& job = found->second;
  rate_ -= job.uses;
  job.uses = dominant_share(info.used, view.capacity());
  rate_ += job.uses;
  job.size = sizes_.of(view, info);
  sharing_.resize(id, job.size.all);
}

void FairEnds::end_job(JobId id) {
  const auto job = jobs_.find(id);
  if (job == jobs_.end()) return;
  rate_ -= job->second.uses;
  // What a job that was killed or failed never did takes nothing from the others.
  sharing_.resize(id, job->second.size.all - job->second.size.left);
  jobs_.erase(job);
  sharing_.leave(id);
  if (!jobs_.empty()) return;
  rate_ = 0;
  sharing_.clear();
}

}  // namespace weft::schedulers

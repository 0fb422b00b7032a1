#include "schedulers/parts/ranked_jobs.hpp"

#include <algorithm>

namespace weft::schedulers {

void RunnableJobs::start(const ClusterView& view) {
  for (const auto& [id, job] : view.jobs()) place(job, false);
}

void RunnableJobs::on_event(const ClusterView& view, const Notice& notice) {
  const bool ended = notice.kind == Notice::Kind::job_ended;
  if (ended || notice.kind == Notice::Kind::job_changed) place(*view.job(notice.job), ended);
}

void RunnableJobs::place(const JobInfo& job, bool ended) {
  if (ended || job.pending == 0) {
    jobs_.erase(order_of(job));
  } else {
    jobs_.try_emplace(order_of(job), &job);
  }
}

Result<void> RankedJobs::start(const ClusterView& view, Part*) {
  capacity_ = view.capacity();
  for (const auto& [id, job] : view.jobs()) place(view, job);
  return {};
}

void RankedJobs::on_event(const ClusterView& view, const Notice& notice) {
  if (notice.kind == Notice::Kind::job_ended) remove(notice.job);
  if (notice.kind == Notice::Kind::job_changed) place(view, *view.job(notice.job));
}

void RankedJobs::place(const ClusterView& view, const JobInfo& job) {
  if (job.pending == 0) return remove(job.id);
  const Rank rank{score(view, job), order_of(job)};
  auto [found, added] = rank_.try_emplace(job.id, rank);
  if (!added) {
    if (!(found->second < rank) && !(rank < found->second)) return;
    order_.erase(found->second);
    found->second = rank;
  }
  order_.emplace(rank, &job);
}

void RankedJobs::remove(JobId job) {
  auto found = rank_.find(job);
  if (found == rank_.end()) return;
  order_.erase(found->second);
  rank_.erase(found);
}

bool RankedJobs::offer(const ClusterView& view, SlotKind, Turn& turn) {
  if (view.capacity() != capacity_) {
    capacity_ = view.capacity();
    for (const auto& [id, job] : view.jobs()) place(view, job);
  }
  auto next = order_.begin();
  if (!turn.starts_over()) {
    const auto now = rank_.find(served_.second.id);  // its score may have become smaller
    next = order_.lower_bound(now == rank_.end() ? served_ : std::min(served_, now->second));
  }
  for (; next != order_.end(); ++next) {
    served_ = next->first;
    if (turn.serve(*next->second)) return true;
  }
  return false;
}

}  // namespace weft::schedulers

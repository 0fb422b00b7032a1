#include "schedulers/policies/ranked_jobs.hpp"

namespace weft::sched {

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
  order_.insert(rank);
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
  for (const auto& [score, order] : order_) {
    if (turn.serve(*view.job(order.id))) return true;
  }
  return false;
}

}  // namespace weft::sched

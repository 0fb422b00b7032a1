#include "schedulers/parts/ranked_jobs.hpp"

#include <algorithm>

namespace weft::schedulers {

Result<void> RankedJobs::start(const ClusterView& view, Part*) {
  place_all(view);
  return {};
}

void RankedJobs::place_all(const ClusterView& view) {
  capacity_ = view.capacity();
  for (const auto& [id, job] : view.jobs()) place(view, job);
}

void RankedJobs::on_event(const ClusterView& view, const Notice& notice) {
  if (notice.kind == Notice::Kind::job_ended) with_pending_.remove(notice.job);
  if (notice.kind == Notice::Kind::job_changed) place(view, *view.job(notice.job));
}

void RankedJobs::place(const ClusterView& view, const JobInfo& job) {
  if (job.pending == 0) return with_pending_.remove(job.id);
  with_pending_.place(job.id, {score(view, job), order_of(job)}, &job);
}

bool RankedJobs::offer(const ClusterView& view, SlotKind, Launcher& launcher) {
  if (view.capacity() != capacity_) place_all(view);
  return with_pending_.offer(launcher.starts_over(), [&launcher](const JobInfo* job) { return launcher.launch(*job); });
}

Sharing RankedJobs::sharing(const ClusterView& view) const {
  std::vector<std::pair<double, JobOrder>> ranked;
  for (const auto& [id, job] : view.jobs()) ranked.emplace_back(score(view, job), order_of(job));
  std::ranges::sort(ranked);
  Sharing sharing;
  for (const auto& [score, job] : ranked) sharing.order.push_back(job.id);
  return sharing;
}

}  // namespace weft::schedulers

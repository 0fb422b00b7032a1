#include "schedulers/parts/due_jobs.hpp"

namespace weft::schedulers {

Result<void> DueJobs::start(const ClusterView& view, Part* before) {
  const auto* old = dynamic_cast<const DueJobs*>(before);
  ends_.start(view, old != nullptr ? &old->ends_ : nullptr);
  place_all(view);
  return {};
}

void DueJobs::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  ends_.on_event(view, notice);
  if (notice.kind == Kind::job_arrived || notice.kind == Kind::job_changed) place(*view.job(notice.job));
  if (notice.kind != Kind::job_ended) return;
  due_.remove(notice.job);
  if (const auto at = due_at_.find(notice.job); at != due_at_.end()) {
    later_.erase({at->second, notice.job});
    due_at_.erase(at);
  }
}

bool DueJobs::offer(const ClusterView& view, SlotKind, Launcher& launcher) {
  bool moved = ends_.refresh(view);
  if (moved || placed_at_ != ends_.changes()) place_all(view), moved = true;
  while (!later_.empty() && ends_.due(later_.begin()->first.second)) {
    place(*later_.begin()->second);
    moved = true;
  }
  return due_.offer(moved || launcher.starts_over(), [&launcher](const JobInfo* job) { return launcher.launch(*job); });
}

void DueJobs::place(const JobInfo& job) {
  if (!ends_.contains(job.id)) return;
  if (const auto at = due_at_.find(job.id); at != due_at_.end()) {
    later_.erase({at->second, job.id});
    due_at_.erase(at);
  }
  if (job.pending == 0) return due_.remove(job.id);
  if (ends_.due(job.id)) return due_.place(job.id, {ends_.size(job.id).left, job.id}, &job);
  due_.remove(job.id);
  const double at = due_at_[job.id] = ends_.due_at(job.id);
  later_.emplace(ByTime{at, job.id}, &job);
}

void DueJobs::place_all(const ClusterView& view) {
  placed_at_ = ends_.changes();
  for (const auto& [id, job] : view.jobs()) place(job);
}

}  // namespace weft::schedulers

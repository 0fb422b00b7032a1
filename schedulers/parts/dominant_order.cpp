#include "schedulers/parts/dominant_order.hpp"

#include <algorithm>

#include "schedulers/parts/ranked_jobs.hpp"

namespace weft::schedulers {

Result<void> DominantOrder::start(const ClusterView& view, Part*) {
  place_all(view);
  return {};
}

void DominantOrder::place_all(const ClusterView& view) {
  capacity_ = view.capacity();
  for (const auto& [id, job] : view.jobs()) place(view, job, false);
}

void DominantOrder::on_event(const ClusterView& view, const Notice& notice) {
  const bool ended = notice.kind == Notice::Kind::job_ended;
  if (ended || notice.kind == Notice::Kind::job_changed) place(view, *view.job(notice.job), ended);
}

DominantOrder::Key DominantOrder::key_of(const JobInfo& job) const {
  switch (by_) {
    case ShareHolder::user:
      return {job.user, JobId(0)};
    case ShareHolder::pool:
      return {job.pool, JobId(0)};
    case ShareHolder::job:
      break;
  }
  return {std::string(), job.id};
}

double DominantOrder::share_of(const ClusterView& view, const JobInfo& job) const {
  if (by_ == ShareHolder::job) return dominant_share(job.used, view.capacity()) / job.hints.weight;
  const std::string& name = by_ == ShareHolder::user ? job.user : job.pool;
  const auto& groups = by_ == ShareHolder::user ? view.users() : view.pools();
  return dominant_share(groups.at(name).used, view.capacity()) / weights_.of(name);
}

void DominantOrder::place(const ClusterView& view, const JobInfo& job, bool ended) {
  const Key key = key_of(job);
  const bool runnable = !ended && job.pending > 0;
  const auto found = runnable ? runnable_.try_emplace(key).first : runnable_.find(key);
  if (found == runnable_.end()) return;
  Runnable& jobs = found->second;
  if (runnable) {
    jobs.try_emplace(order_of(job), &job);
  } else {
    jobs.erase(order_of(job));
  }
  if (!jobs.empty()) return order_.place(key, {share_of(view, job), jobs.begin()->first}, &jobs);
  order_.remove(key);
  runnable_.erase(found);
}

bool DominantOrder::offer(const ClusterView& view, SlotKind, Launcher& launcher) {
  if (view.capacity() != capacity_) place_all(view);
  return order_.offer(launcher.starts_over(), [&launcher](const Runnable* jobs) {
    return std::ranges::any_of(*jobs, [&launcher](const auto& entry) { return launcher.launch(*entry.second); });
  });
}

}  // namespace weft::schedulers

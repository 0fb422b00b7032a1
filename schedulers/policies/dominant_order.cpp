#include "schedulers/policies/dominant_order.hpp"

#include "schedulers/policies/ranked_jobs.hpp"

namespace weft::sched {

Result<void> DominantOrder::start(const ClusterView& view, Part*) {
  capacity_ = view.capacity();
  for (const auto& [id, job] : view.jobs()) place(view, job, false);
  return {};
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
  const auto& groups = by_ == ShareHolder::user ? view.users() : view.pools();
  return dominant_share(groups.at(by_ == ShareHolder::user ? job.user : job.pool).used, view.capacity());
}

void DominantOrder::rank(const Key& key, const Holder& holder, bool in) {
  if (holder.runnable.empty()) return;
  if (in) {
    order_.emplace(holder.share, *holder.runnable.begin(), key);
  } else {
    order_.erase({holder.share, *holder.runnable.begin(), key});
  }
}

void DominantOrder::place(const ClusterView& view, const JobInfo& job, bool ended) {
  const Key key = key_of(job);
  Holder& holder = holders_[key];
  rank(key, holder, false);
  if (ended || job.pending == 0) {
    holder.runnable.erase(order_of(job));
  } else {
    holder.runnable.insert(order_of(job));
  }
  holder.share = share_of(view, job);
  rank(key, holder, true);
  if (holder.runnable.empty()) holders_.erase(key);
}

bool DominantOrder::offer(const ClusterView& view, SlotKind, Turn& turn) {
  if (view.capacity() != capacity_) {
    capacity_ = view.capacity();
    for (const auto& [id, job] : view.jobs()) place(view, job, false);
  }
  for (const auto& [share, first, key] : order_) {
    for (const JobOrder& next : holders_.at(key).runnable) {
      if (turn.serve(*view.job(next.id))) return true;
    }
  }
  return false;
}

}  // namespace weft::sched

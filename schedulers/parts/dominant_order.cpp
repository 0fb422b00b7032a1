#include "schedulers/parts/dominant_order.hpp"

#include <algorithm>

#include "schedulers/parts/ranked_jobs.hpp"

namespace weft::schedulers {

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
  const std::string& name = by_ == ShareHolder::user ? job.user : job.pool;
  const auto& groups = by_ == ShareHolder::user ? view.users() : view.pools();
  return dominant_share(groups.at(name).used, view.capacity()) / weights_.of(name);
}

DominantOrder::Rank DominantOrder::rank_of(const Key& key, const Holder& holder) {
  return {holder.share, holder.runnable.begin()->first, key};
}

void DominantOrder::place(const ClusterView& view, const JobInfo& job, bool ended) {
  const Key key = key_of(job);
  const bool runnable = !ended && job.pending > 0;
  auto found = holders_.find(key);
  if (found == holders_.end()) {
    if (!runnable) return;
    found = holders_.try_emplace(key).first;
  } else {
    order_.erase(rank_of(key, found->second));
  }
  Holder& holder = found->second;
  if (runnable) {
    holder.runnable.try_emplace(order_of(job), &job);
  } else {
    holder.runnable.erase(order_of(job));
  }
  if (holder.runnable.empty()) {
    holders_.erase(found);
    return;
  }
  holder.share = share_of(view, job);
  order_.emplace(rank_of(key, holder), &holder);
}

bool DominantOrder::offer(const ClusterView& view, SlotKind, Turn& turn) {
  if (view.capacity() != capacity_) {
    capacity_ = view.capacity();
    for (const auto& [id, job] : view.jobs()) place(view, job, false);
  }
  auto next = order_.begin();
  if (!turn.starts_over()) {
    const auto now = holders_.find(std::get<Key>(served_));
    next = order_.lower_bound(now == holders_.end() ? served_ : std::min(served_, rank_of(now->first, now->second)));
  }
  for (; next != order_.end(); ++next) {
    served_ = next->first;
    for (const auto& [order, job] : next->second->runnable) {
      if (turn.serve(*job)) return true;
    }
  }
  return false;
}

}  // namespace weft::schedulers

#include "schedulers/parts/fair_preemption.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::schedulers {

namespace {

struct Victim {
  Time launched{0};
  AttemptId attempt;
};

/// Running attempts of tasks of the kind, the newest first.
std::vector<Victim> newest_first(const ClusterView& view, SlotKind kind) {
  std::vector<Victim> victims;
  for (const auto& [id, node] : view.nodes()) {
    for (const AttemptId& attempt : node.running) {
      const StageInfo& stage = *view.stage(attempt.task.job, attempt.task.stage);
      if (kind == SlotKind::any || slot_kind_of(stage, true) == kind) victims.push_back({*view.launched(attempt), attempt});
    }
  }
  std::sort(victims.begin(), victims.end(), [](const Victim& a, const Victim& b) {
    return a.launched != b.launched ? a.launched > b.launched : b.attempt < a.attempt;
  });
  return victims;
}

}  // namespace

Result<void> FairPreemption::start(const ClusterView&, Part* before) {
  if (const auto* old = dynamic_cast<const FairPreemption*>(before)) {
    clocks_ = old->clocks_;
    next_update_ = old->next_update_;
    next_round_ = old->next_round_;
  }
  return {};
}

void FairPreemption::on_event(const ClusterView& view, const Notice&) {
  if (view.runnable_jobs().empty()) clocks_.clear();
}

bool FairPreemption::preempt(const ClusterView& view, Decisions& decisions) {
  if (view.runnable_jobs().empty()) return false;
  bool killed = false;
  if (view.now() >= next_update_) {
    next_update_ = view.now() + options_.update;
    const bool round = view.now() >= next_round_;
    if (round) next_round_ = view.now() + options_.interval;
    for (SlotKind kind : slot_kinds(view)) {
      const auto shares = tree_.shares(view, kind, amount_of(view.capacity(), kind));
      watch(view, kind, shares);
      if (!round) continue;
      for (const Starved& pool : starved(view, kind, shares)) killed = feed(view, kind, shares, pool, decisions) || killed;
    }
  }
  decisions.wake_at(next_update_);
  return killed;
}

void FairPreemption::watch(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares) {
  auto note = [&view](std::optional<Time>& since, bool below) {
    if (!below) since.reset();
    if (below && !since) since = view.now();
  };
  for (PoolTree::PoolIndex i = 1; i < tree_.size(); ++i) {
    const auto& pool = tree_.pool(i);
    if (!pool.settings.min_share_timeout && !pool.settings.fair_share_timeout) continue;
    Clock& clock = clocks_[{pool.settings.name, kind}];
    const Amounts& amounts = pool.amounts[static_cast<std::size_t>(kind)];
    note(clock.below_minimum, amounts.used < pool.guaranteed(kind) - kPoolSlack);
    note(clock.below_half, amounts.used < shares.pools[i] / 2 - kPoolSlack);
  }
}

/// The pools that others lose tasks for, with the amounts that they lack. A pool below a starved one is part of it.
std::vector<FairPreemption::Starved> FairPreemption::starved(const ClusterView& view, SlotKind kind,
                                                             const PoolTree::Shares& shares) const {
  std::vector<Starved> found;
  std::vector<bool> covered(tree_.size());
  auto since = [&view](const std::optional<Time>& from, const std::optional<Time>& timeout) {
    return from && timeout && view.now() - *from >= *timeout;
  };
  for (PoolTree::PoolIndex i = 1; i < tree_.size(); ++i) {
    const auto& pool = tree_.pool(i);
    covered[i] = covered[pool.parent];
    const auto clock = clocks_.find({pool.settings.name, kind});
    if (covered[i] || clock == clocks_.end()) continue;
    const double used = pool.amounts[static_cast<std::size_t>(kind)].used;
    double need = 0;
    if (since(clock->second.below_minimum, pool.settings.min_share_timeout)) need = pool.guaranteed(kind) - used;
    if (since(clock->second.below_half, pool.settings.fair_share_timeout)) need = std::max(need, shares.pools[i] - used);
    if (need <= kPoolSlack) continue;
    covered[i] = true;
    found.push_back({i, need});
  }
  return found;
}

/// Whether the job, and each pool that it is in except the ancestors of the pool `to`, keeps its share if it loses that amount.
bool FairPreemption::may_lose(const JobInfo& job, double amount, SlotKind kind, const PoolTree::Shares& shares,
                              PoolTree::PoolIndex to) const {
  if (tree_.amounts_of(job.id, kind).used - amount < shares.jobs.at(job.id) - kPoolSlack) return false;
  for (auto up = tree_.pool_of(job.id); up != PoolTree::kRoot; up = tree_.pool(up).parent) {
    if (up == to) return false;
  }
  std::vector<PoolTree::PoolIndex> above{PoolTree::kRoot};
  for (auto up = to; up != PoolTree::kRoot; up = tree_.pool(up).parent) above.push_back(up);
  for (auto up = tree_.pool_of(job.id); std::find(above.begin(), above.end(), up) == above.end(); up = tree_.pool(up).parent) {
    const auto& pool = tree_.pool(up);
    const double due = std::max(shares.pools[up], pool.guaranteed(kind));
    if (pool.amounts[static_cast<std::size_t>(kind)].used - amount < due - kPoolSlack) return false;
  }
  return true;
}

bool FairPreemption::feed(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares, Starved starved,
                          Decisions& decisions) {
  bool killed = false;
  for (const Victim& victim : newest_first(view, kind)) {
    if (starved.need <= kPoolSlack) break;
    const TaskId& task = victim.attempt.task;
    const double amount = amount_of(view.stage(task.job, task.stage)->demand, kind);
    if (amount <= 0 || !may_lose(*view.job(task.job), amount, kind, shares, starved.pool)) continue;
    const auto done =
        decisions.preempt(victim.attempt, fmt::format("pool {} is below its share", tree_.pool(starved.pool).settings.name));
    if (!done) continue;
    starved.need -= amount;
    killed = true;
  }
  return killed;
}

}  // namespace weft::schedulers

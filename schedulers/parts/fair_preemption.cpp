#include "schedulers/parts/fair_preemption.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedulers/parts/victim_search.hpp"

namespace weft::schedulers {

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
  tree_.serve_in_order();
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

bool FairPreemption::feed(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares, const Starved& starved,
                          Decisions& decisions) {
  const PoolTree::Pool& pool = tree_.pool(starved.pool);
  const std::string reason = fmt::format("pool {} is below its share", pool.settings.name);
  const double used = pool.amounts[static_cast<std::size_t>(kind)].used;
  VictimSearch search(tree_, view, kind, shares, starved.pool);
  double given = 0;
  while (given < starved.need - kPoolSlack) {
    const double more = search.kill_for_one(decisions, reason);
    if (more <= 0) break;
    given += more;
  }
  if (given > 0) tree_.serve_first(starved.pool, kind, used + given);
  return search.killed();
}

}  // namespace weft::schedulers

#include "schedulers/parts/victim_search.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace weft::schedulers {

namespace {

Resources larger(Resources a, const Resources& b) {
  for (const auto& kind : kResourceKinds) a.*kind.amount = std::max(a.*kind.amount, b.*kind.amount);
  return a;
}

}  // namespace

bool VictimSearch::Plan::operator<(const Plan& other) const {
  if (lost != other.lost) return lost < other.lost;
  return other.victims.front().attempt < victims.front().attempt;
}

VictimSearch::VictimSearch(const PoolTree& tree, const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares,
                           PoolTree::PoolIndex pool)
    : tree_(tree), view_(view), kind_(kind), shares_(shares), pool_(pool) {
  find_hungry();
  for (const auto& [id, node] : view.nodes()) plan(node);
}

/// Each kill leaves fewer victims on the other nodes, so a plan only becomes dearer: those that are valid no more are made again
/// when it is their turn.
double VictimSearch::kill_for_one(Decisions& decisions, std::string_view reason) {
  while (!plans_.empty()) {
    const Plan best = std::move(plans_.extract(plans_.begin()).value());
    const NodeInfo& node = *view_.node(best.node);
    if (!valid(best) || !kill(best, decisions, reason)) {
      plan(node);
      continue;
    }
    Resources given;
    for (const Victim& victim : best.victims) given += victim.demand;
    given = larger(given, hungry_[best.hungry].demand);
    given_[best.node] += given;
    --hungry_[best.hungry].tasks;
    plan(node);
    return amount_of(given, kind_);
  }
  return 0;
}

void VictimSearch::find_hungry() {
  for (const JobOrder& order : view_.runnable_jobs()) {
    if (!tree_.is_below(order.id, pool_) || !tree_.may_run(order.id)) continue;
    const JobInfo& job = *view_.job(order.id);
    for (const StageId id : job.runnable) {
      const StageInfo& stage = *job.stage(id);
      if (kind_ != SlotKind::any && slot_kind_of(stage, true) != kind_) continue;
      auto same = std::ranges::find(hungry_, stage.demand, &Hungry::demand);
      if (same == hungry_.end()) same = hungry_.insert(same, Hungry{stage.demand, 0, {}});
      same->tasks += stage.pending.count();
      same->stages.push_back(&stage);
    }
  }
}

/// The cheapest for any of the tasks; none where no task fits, whatever is killed.
void VictimSearch::plan(const NodeInfo& node) {
  if (!node.usable()) return;
  const auto newest = newest_first(node);
  auto largest = newest;
  std::ranges::stable_sort(largest, std::greater<>(), &Victim::amount);
  std::optional<Plan> best;
  for (std::size_t i = 0; i < hungry_.size(); ++i) {
    if (hungry_[i].tasks == 0 || !may_run_on(hungry_[i], node.id)) continue;
    for (auto& found : {first_of(node, i, newest), one_of(node, i, newest), first_of(node, i, largest)}) {
      if (found && (!best || *found < *best)) best = found;
    }
  }
  if (best) plans_.insert(std::move(*best));
}

/// As many of the first as are needed. Small ones may leave no share to lose a large one from, and the other way round: so two
/// orders are tried.
std::optional<VictimSearch::Plan> VictimSearch::first_of(const NodeInfo& node, std::size_t hungry,
                                                         const std::vector<Victim>& victims) const {
  std::vector<Victim> chosen;
  Resources freed;
  for (const Victim& victim : victims) {
    chosen.push_back(victim);
    if (!may_lose(victim, chosen)) {
      chosen.pop_back();
      continue;
    }
    freed += victim.demand;
    if (fit(node, hungry, freed)) break;
  }
  if (chosen.empty() || !fit(node, hungry, freed)) return std::nullopt;
  for (std::size_t i = chosen.size(); i-- > 0 && chosen.size() > 1;) {  // a larger one made room for small ones, too
    if (!fit(node, hungry, freed - chosen[i].demand)) continue;
    freed -= chosen[i].demand;
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return plan_of(node, hungry, std::move(chosen));
}

/// The newest that is enough alone, which its job may not lose together with newer ones.
std::optional<VictimSearch::Plan> VictimSearch::one_of(const NodeInfo& node, std::size_t hungry,
                                                       const std::vector<Victim>& victims) const {
  for (const Victim& victim : victims) {
    if (fit(node, hungry, victim.demand) && may_lose(victim, {&victim, 1})) return plan_of(node, hungry, {victim});
  }
  return std::nullopt;
}

VictimSearch::Plan VictimSearch::plan_of(const NodeInfo& node, std::size_t hungry, std::vector<Victim> victims) const {
  Plan plan{node.id, hungry, std::move(victims), 0};
  for (const Victim& victim : plan.victims) {
    plan.lost += victim.amount * static_cast<double>((view_.now() - victim.launched).count());
  }
  return plan;
}

/// Running attempts of tasks of the kind.
std::vector<VictimSearch::Victim> VictimSearch::newest_first(const NodeInfo& node) const {
  std::vector<Victim> victims;
  for (const AttemptId& attempt : node.running) {
    const StageInfo& stage = *view_.stage(attempt.task.job, attempt.task.stage);
    if (kind_ != SlotKind::any && slot_kind_of(stage, true) != kind_) continue;
    const double amount = amount_of(stage.demand, kind_);
    if (amount > 0) victims.push_back({attempt, *view_.launched(attempt), stage.demand, amount});
  }
  std::sort(victims.begin(), victims.end(), [](const Victim& a, const Victim& b) {
    return a.launched != b.launched ? a.launched > b.launched : b.attempt < a.attempt;
  });
  return victims;
}

/// Whether it is not the node where each of them failed last.
bool VictimSearch::may_run_on(const Hungry& hungry, NodeId node) const {
  return std::ranges::any_of(hungry.stages, [node](const StageInfo* stage) {
    const auto& avoiding = stage->pending.avoiding();
    const auto found = avoiding.find(node);
    return found == avoiding.end() || found->second.size() < stage->pending.count();
  });
}

/// Whether one of the tasks fits when that much comes free.
bool VictimSearch::fit(const NodeInfo& node, std::size_t hungry, const Resources& freed) const {
  Resources used = node.used - freed;
  if (const auto given = given_.find(node.id); given != given_.end()) used += given->second;
  return fits(hungry_[hungry].demand, used, node.capacity);
}

/// Whether its job, and each pool that it is in except the ancestors of the starved pool, keeps its share when all of these are
/// lost.
bool VictimSearch::may_lose(const Victim& victim, std::span<const Victim> together) const {
  const JobId job = victim.attempt.task.job;
  const auto lost = [&](auto&& counts) {
    double sum = 0;
    for (const Victim& one : together) sum += counts(one.attempt.task.job) ? one.amount : 0;
    return sum;
  };
  if (refused_.contains(victim.attempt) || tree_.is_below(job, pool_)) return false;
  const double of_job = lost([job](JobId other) { return other == job; });
  if (tree_.amounts_of(job, kind_).used - of_job < shares_.jobs.at(job) - kPoolSlack) return false;
  std::vector<PoolTree::PoolIndex> above{PoolTree::kRoot};
  for (auto up = pool_; up != PoolTree::kRoot; up = tree_.pool(up).parent) above.push_back(up);
  for (auto up = tree_.pool_of(job); std::ranges::find(above, up) == above.end(); up = tree_.pool(up).parent) {
    const auto& pool = tree_.pool(up);
    const double due = std::max(shares_.pools[up], pool.guaranteed(kind_));
    const double of_pool = lost([&](JobId other) { return tree_.is_below(other, up); });
    if (pool.amounts[static_cast<std::size_t>(kind_)].used - of_pool < due - kPoolSlack) return false;
  }
  return true;
}

bool VictimSearch::valid(const Plan& plan) const {
  return hungry_[plan.hungry].tasks > 0 &&
         std::ranges::all_of(plan.victims, [&](const Victim& victim) { return may_lose(victim, plan.victims); });
}

/// False: one was refused.
bool VictimSearch::kill(const Plan& plan, Decisions& decisions, std::string_view reason) {
  for (const Victim& victim : plan.victims) {
    if (!decisions.preempt(victim.attempt, reason)) return refused_.insert(victim.attempt), false;
    killed_ = true;
  }
  return true;
}

}  // namespace weft::schedulers

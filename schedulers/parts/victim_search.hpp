// Which attempts make room for a pool that is entitled to more. See fair_preemption.hpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "schedulers/parts/pool_tree.hpp"

namespace weft::schedulers {

/// Finds the victims for one pool, node by node, so that a pending task of the pool fits on the node afterwards. Pieces that come
/// free on several nodes are of no use to a task that fits none of them: those who lost them would launch there again, and lose
/// them once more. Valid during one call of the scheduler, in which nothing else is decided.
class VictimSearch {
 public:
  /// `tree`, `view` and `shares` outlive this.
  VictimSearch(const PoolTree& tree, const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares,
               PoolTree::PoolIndex pool);

  /// Makes room for one task of the pool, where the least work is lost. The amount of the kind that the pool can use then, which is
  /// more than the task's demand where a victim has more. 0: nothing that may be killed makes room for any of its tasks.
  double kill_for_one(Decisions& decisions, std::string_view reason);
  /// Whether anything was killed.
  bool killed() const { return killed_; }

 private:
  struct Victim {
    AttemptId attempt;
    Time launched{0};
    Resources demand;
    double amount = 0;  // of the kind
  };
  /// Pending tasks of the pool that demand the same.
  struct Hungry {
    Resources demand;
    std::uint64_t tasks = 0;
    std::vector<const StageInfo*> stages;
  };
  /// What is killed on a node for one of the hungry tasks.
  struct Plan {
    NodeId node;
    std::size_t hungry = 0;
    std::vector<Victim> victims;
    double lost = 0;  // work: amounts times the time since the launch
    bool operator<(const Plan& other) const;
  };

  void find_hungry();
  void plan(const NodeInfo& node);
  std::optional<Plan> first_of(const NodeInfo& node, std::size_t hungry, const std::vector<Victim>& victims) const;
  std::optional<Plan> one_of(const NodeInfo& node, std::size_t hungry, const std::vector<Victim>& victims) const;
  Plan plan_of(const NodeInfo& node, std::size_t hungry, std::vector<Victim> victims) const;
  std::vector<Victim> newest_first(const NodeInfo& node) const;
  bool may_run_on(const Hungry& hungry, NodeId node) const;
  bool fit(const NodeInfo& node, std::size_t hungry, const Resources& freed) const;
  bool may_lose(const Victim& victim, std::span<const Victim> together) const;
  bool valid(const Plan& plan) const;
  bool kill(const Plan& plan, Decisions& decisions, std::string_view reason);

  const PoolTree& tree_;
  const ClusterView& view_;
  SlotKind kind_;
  const PoolTree::Shares& shares_;
  PoolTree::PoolIndex pool_;
  std::vector<Hungry> hungry_;
  std::set<Plan> plans_;               // at most one of each node
  std::map<NodeId, Resources> given_;  // to the pool, which has not launched there yet
  std::set<AttemptId> refused_;
  bool killed_ = false;
};

}  // namespace weft::schedulers

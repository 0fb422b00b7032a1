#include "schedulers/parts/free_nodes.hpp"

#include <algorithm>
#include <utility>

namespace weft::schedulers {

namespace {

/// A list pays where all nodes are this many times as many.
constexpr std::size_t kWorthListing = 8;

}  // namespace

void FreeNodes::none() {
  count_ = 0;
  filled_.clear();
}

void FreeNodes::one(NodeId node) {
  none();
  count_ = 1;
  only_ = node;
}

void FreeNodes::all(const ClusterView& view, NodeId after) {
  none();
  view_ = &view;
  start_ = after;
  count_ = view.free_nodes().size();
  if (count_ == 1) only_ = *view.free_nodes().begin();
}

bool FreeNodes::contains(NodeId node) const {
  if (count_ == 1) return node == only_;
  return count_ > 0 && (view_->free_nodes().contains(node) || filled_.contains(node));
}

std::optional<std::vector<NodeId>> FreeNodes::near(const StageInfo& stage, Locality level, bool all_prefer) const {
  const PendingTasks& pending = stage.pending;
  if (all_prefer && (!pending.placed() || !pending.avoiding().empty())) return std::nullopt;
  std::set<HostId> hosts;
  if (pending.placed()) {
    if ((pending.count() + stage.preplaced.size()) * kWorthListing > count_) return std::nullopt;
    for (auto task = pending.unconstrained().first(); task; task = pending.unconstrained().at_or_after(*task + 1)) {
      const auto of_task = pending.hosts(*task);
      if (all_prefer && of_task.empty()) return std::nullopt;
      hosts.insert(of_task.begin(), of_task.end());
    }
  }
  std::vector<NodeId> nodes;
  if (level == Locality::node) {
    for (HostId host : hosts) {
      const auto there = view_->hosts().find(host);
      if (there != view_->hosts().end()) nodes.insert(nodes.end(), there->second.begin(), there->second.end());
    }
    for (const auto& [node, tasks] : stage.preplaced) nodes.push_back(node);
  } else {
    std::set<RackId> racks;
    for (HostId host : hosts) {
      if (const auto rack = view_->rack_of(host)) racks.insert(*rack);
    }
    for (RackId id : racks) {
      const RackInfo* rack = view_->rack(id);
      if (rack == nullptr) continue;
      if ((nodes.size() + rack->free_nodes.size()) * kWorthListing > count_) return std::nullopt;
      nodes.insert(nodes.end(), rack->free_nodes.begin(), rack->free_nodes.end());
    }
    nodes.insert(nodes.end(), filled_.begin(), filled_.end());
  }
  std::erase_if(nodes, [this](NodeId node) { return !contains(node); });
  const auto earlier = [this](NodeId a, NodeId b) { return std::pair(a <= start_, a) < std::pair(b <= start_, b); };
  std::sort(nodes.begin(), nodes.end(), earlier);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace weft::schedulers

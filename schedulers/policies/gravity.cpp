#include "schedulers/policies/gravity.hpp"

#include <algorithm>

namespace weft::sched {

void Gravity::add(const ClusterView& view, NodeId id, double weight) {
  total_ += weight;
  const NodeInfo* node = view.node(id);
  Source& source = nodes_[id];
  source.weight += weight;
  if (node == nullptr) return;
  source.rack = node->rack;
  racks_[node->rack] += weight;
}

double Gravity::wtnd(const ClusterView& view, NodeId id) const {
  const NodeInfo* node = view.node(id);
  if (node == nullptr) return 4 * total_;
  const auto rack = racks_.find(node->rack);
  const auto source = nodes_.find(id);
  return 4 * total_ - 2 * (rack == racks_.end() ? 0 : rack->second) - 2 * (source == nodes_.end() ? 0 : source->second.weight);
}

std::optional<RackId> Gravity::rack_of(NodeId source) const {
  auto found = nodes_.find(source);
  return found == nodes_.end() ? std::nullopt : found->second.rack;
}

std::vector<NodeId> Gravity::nearest() const {
  std::vector<std::pair<double, NodeId>> order;  // by minus what is saved against the farthest
  for (const auto& [node, source] : nodes_) {
    if (source.rack) order.emplace_back(-(racks_.at(*source.rack) + source.weight), node);
  }
  std::sort(order.begin(), order.end());
  std::vector<NodeId> nodes;
  for (const auto& [saved, node] : order) nodes.push_back(node);
  return nodes;
}

}  // namespace weft::sched

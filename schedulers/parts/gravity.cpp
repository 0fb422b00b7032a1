#include "schedulers/parts/gravity.hpp"

#include <algorithm>

namespace weft::schedulers {

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
  const auto source = nodes_.find(id);
  return wtnd(node->rack) - 2 * (source == nodes_.end() ? 0 : source->second.weight);
}

double Gravity::wtnd(RackId id) const {
  const auto rack = racks_.find(id);
  return 4 * total_ - 2 * (rack == racks_.end() ? 0 : rack->second);
}

std::vector<Gravity::Near> Gravity::nearest() const {
  std::vector<Near> nodes;
  for (const auto& [node, source] : nodes_)
    if (source.rack) nodes.push_back({wtnd(*source.rack) - 2 * source.weight, node});
  std::ranges::stable_sort(nodes, {}, &Near::wtnd);
  return nodes;
}

}  // namespace weft::schedulers

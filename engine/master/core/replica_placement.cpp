#include "engine/master/core/replica_placement.hpp"

#include <algorithm>

namespace weft::master {

void ReplicaPlacement::add(NodeId node, RackId rack) {
  nodes_[node] = {rack, 0};
  racks_[rack].insert({0, node});
}

void ReplicaPlacement::remove(NodeId node) {
  const auto known = nodes_.extract(node);
  if (known.empty()) return;
  const auto& [rack, replicas] = known.mapped();
  const auto places = racks_.find(rack);
  places->second.erase({replicas, node});
  if (places->second.empty()) racks_.erase(places);
}

void ReplicaPlacement::change(NodeId node, int replicas) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  auto& [rack, count] = known->second;
  std::set<Place>& places = racks_.at(rack);
  places.erase({count, node});
  count += static_cast<std::uint64_t>(static_cast<std::int64_t>(replicas));
  places.insert({count, node});
}

std::optional<ReplicaPlacement::Place> ReplicaPlacement::first(const std::set<Place>& places, const Allowed& allowed) {
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& place) { return allowed(place.second); });
  return found == places.end() ? std::nullopt : std::optional(*found);
}

std::optional<NodeId> ReplicaPlacement::pick(RackId away_from, const Allowed& allowed) const {
  std::optional<Place> best;
  for (const auto& [rack, places] : racks_) {
    if (rack == away_from) continue;
    const auto there = first(places, allowed);
    if (there && (!best || *there < *best)) best = there;
  }
  const auto near = racks_.find(away_from);
  if (!best && near != racks_.end()) best = first(near->second, allowed);
  return best ? std::optional(best->second) : std::nullopt;
}

}  // namespace weft::master

#include "engine/master/core/stage_replicas.hpp"

#include "base/assert.hpp"

namespace weft::master {

const StageReplicas::Replica* StageReplicas::of(std::uint32_t map) const {
  const auto found = replicas_.find(map);
  return found == replicas_.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> StageReplicas::on(NodeId node) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void StageReplicas::begin(std::uint32_t map, NodeId node) {
  const bool fresh = replicas_.emplace(map, Replica{node, false}).second;
  WEFT_ASSERT(fresh);
  by_node_[node].insert(map);
}

void StageReplicas::made(std::uint32_t map) {
  Replica& replica = replicas_.at(map);
  WEFT_ASSERT(!replica.made);
  replica.made = true;
  ++made_;
}

void StageReplicas::erase(std::uint32_t map) {
  const auto replica = replicas_.extract(map);
  if (replica.empty()) return;
  if (replica.mapped().made) --made_;
  const auto place = by_node_.find(replica.mapped().node);
  place->second.erase(map);
  if (place->second.empty()) by_node_.erase(place);
}

bool StageReplicas::barred(std::uint32_t map, NodeId node) const {
  const auto found = barred_.find(map);
  return found != barred_.end() && found->second.contains(node);
}

}  // namespace weft::master

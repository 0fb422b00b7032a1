#include "engine/master/stage_replicas.hpp"

#include "base/assert.hpp"

namespace weft::master {

const StageReplicas::Copy* StageReplicas::of(std::uint32_t map) const {
  const auto found = copies_.find(map);
  return found == copies_.end() ? nullptr : &found->second;
}

std::vector<std::uint32_t> StageReplicas::on(NodeId node) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void StageReplicas::begin(std::uint32_t map, NodeId node) {
  const bool fresh = copies_.emplace(map, Copy{node, false}).second;
  WEFT_ASSERT(fresh);
  by_node_[node].insert(map);
}

void StageReplicas::made(std::uint32_t map) {
  Copy& copy = copies_.at(map);
  WEFT_ASSERT(!copy.there);
  copy.there = true;
  ++there_;
}

void StageReplicas::erase(std::uint32_t map) {
  const auto copy = copies_.extract(map);
  if (copy.empty()) return;
  if (copy.mapped().there) --there_;
  const auto place = by_node_.find(copy.mapped().node);
  place->second.erase(map);
  if (place->second.empty()) by_node_.erase(place);
}

bool StageReplicas::barred(std::uint32_t map, NodeId node) const {
  const auto found = barred_.find(map);
  return found != barred_.end() && found->second.contains(node);
}

}  // namespace weft::master

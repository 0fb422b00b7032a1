#include "storage/namespace/damage.hpp"

namespace weft::storage {

Damage* DamagedReplicas::of(ChunkId chunk) {
  const auto found = all_.find(chunk);
  return found == all_.end() ? nullptr : &found->second;
}

std::vector<NodeId> DamagedReplicas::nodes_of(ChunkId chunk) const {
  const Damage* damage = of(chunk);
  return damage == nullptr ? std::vector<NodeId>() : std::vector<NodeId>(damage->nodes.begin(), damage->nodes.end());
}

std::size_t DamagedReplicas::replicas() const {
  std::size_t count = 0;
  for (const auto& [chunk, damage] : all_) count += damage.nodes.size();
  return count;
}

void DamagedReplicas::found(ChunkId chunk, NodeId node, bool foreign) {
  Damage& damage = all_[chunk];
  damage.nodes.insert(node);
  if (foreign) damage.foreign.insert(node);
  damage.failures = 0;
}

void DamagedReplicas::verified(ChunkId chunk, NodeId node) {
  if (Damage* damage = of(chunk)) damage->verified.insert(node);
}

void DamagedReplicas::not_verified(ChunkId chunk, NodeId node) {
  if (Damage* damage = of(chunk)) damage->verified.erase(node);
}

void DamagedReplicas::gone(ChunkId chunk, NodeId node) {
  const auto found = all_.find(chunk);
  if (found == all_.end()) return;
  found->second.nodes.erase(node);
  found->second.foreign.erase(node);
  if (found->second.nodes.empty()) all_.erase(found);
}

std::vector<ChunkId> DamagedReplicas::node_gone(NodeId node) {
  std::vector<ChunkId> chunks;
  for (auto& [chunk, damage] : all_) {
    damage.verified.erase(node);
    if (damage.nodes.contains(node)) chunks.push_back(chunk);
  }
  for (const ChunkId chunk : chunks) gone(chunk, node);
  return chunks;
}

}  // namespace weft::storage

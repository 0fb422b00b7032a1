// Damaged replicas, and the reading of whole ones before those go. Private to storage/namespace.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "storage/namespace/types.hpp"

namespace weft::storage {

/// Of a chunk with damaged replicas. They are kept: page by page they may be all there is.
struct Damage {
  std::set<NodeId> nodes;      // that keep one
  std::set<NodeId> foreign;    // of these: something else under its id, of no use
  std::set<NodeId> verified;   // their whole replica was read or written in full since
  std::uint32_t failures = 0;  // of copies, one after the other
};

class DamagedReplicas {
 public:
  /// Null when none is known.
  Damage* of(ChunkId chunk);
  const Damage* of(ChunkId chunk) const { return const_cast<DamagedReplicas*>(this)->of(chunk); }
  std::vector<NodeId> nodes_of(ChunkId chunk) const;
  const std::map<ChunkId, Damage>& all() const { return all_; }
  std::size_t replicas() const;

  /// A replica that is not what it should be; `foreign`: something else under its id.
  void found(ChunkId chunk, NodeId node, bool foreign);
  /// The node's whole replica was compared with its digest. Of a chunk without damage nothing is remembered.
  void verified(ChunkId chunk, NodeId node);
  void not_verified(ChunkId chunk, NodeId node);
  /// The node has no damaged replica of it any more.
  void gone(ChunkId chunk, NodeId node);
  /// The node has nothing any more. Of which chunks it had a damaged replica.
  std::vector<ChunkId> node_gone(NodeId node);
  void forget(ChunkId chunk) { all_.erase(chunk); }

 private:
  std::map<ChunkId, Damage> all_;
};

}  // namespace weft::storage

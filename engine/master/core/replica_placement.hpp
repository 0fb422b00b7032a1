// Where replicas of map outputs go: to another rack than the output's if there is one, and there to the node with the fewest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.hpp"

namespace weft::master {

/// Live nodes by rack and by the replicas they have or are to have. The order of nodes with equally many is that of their ids.
class ReplicaPlacement {
 public:
  using Allowed = std::function<bool(NodeId)>;

  void add(NodeId node, RackId rack);
  void remove(NodeId node);
  /// Of a node that may be gone.
  void change(NodeId node, int replicas);
  /// O(racks), and what is not allowed on the way. Nothing when no node is allowed.
  std::optional<NodeId> pick(RackId away_from, const Allowed& allowed) const;

 private:
  using Place = std::pair<std::uint64_t, NodeId>;  // replicas, node

  static std::optional<Place> first(const std::set<Place>& places, const Allowed& allowed);

  std::map<NodeId, std::pair<RackId, std::uint64_t>> nodes_;
  std::map<RackId, std::set<Place>> racks_;
};

}  // namespace weft::master

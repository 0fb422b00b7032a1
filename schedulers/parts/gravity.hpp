// Centre of gravity: the distance of a reader of partitions from its input, for any node, in O(1) after one pass.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The sources of one reader. Distances are 0 on the node, 2 in the rack, 4 beyond. WTND(v) = sum of dist(i, v) * w_i over sources
/// = 4 W - 2 W_rack(v) - 2 w_v; TND is the same with every source weighing 1.
class Gravity {
 public:
  /// Sources on nodes that are gone are 4 from everywhere.
  void add(const ClusterView& view, NodeId node, double weight);
  double wtnd(const ClusterView& view, NodeId node) const;
  double total() const { return total_; }
  struct Near {
    double wtnd = 0;
    NodeId node;
  };
  /// Source nodes, the nearest to everything first; ties by id. The first is the centre of gravity.
  std::vector<Near> nearest() const;
  /// The distance from the nodes of that rack that are no sources themselves.
  double wtnd(RackId rack) const;
  /// The racks of sources, and the weights of these together.
  const std::map<RackId, double>& racks() const { return racks_; }

 private:
  struct Source {
    double weight = 0;
    std::optional<RackId> rack;
  };
  double total_ = 0;
  std::map<NodeId, Source> nodes_;
  std::map<RackId, double> racks_;
};

}  // namespace weft::schedulers

// The nodes with free capacity when a scheduler is called, in the order in which they are offered: in a circle that begins after
// the node that got a task last. They are not listed: an idle node that no search visits costs nothing.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// A way round the circle of nodes, or along a list of them.
struct NodeWalk {
  NodeId origin;  // the last to be visited
  NodeId at;      // visited just now; at first the origin
  bool wrapped = false;
  std::optional<std::vector<NodeId>> listed;  // set: these nodes and no others
  std::size_t position = 0;                   // of the next in the list
};

class FreeNodes {
 public:
  /// `view` must outlive them. Until the next of these calls nodes get less free capacity, never more.
  void none();
  void one(NodeId node);
  void all(const ClusterView& view, NodeId after);

  std::size_t count() const { return count_; }
  NodeId only() const { return only_; }  // when count() is 1
  bool contains(NodeId node) const;
  NodeWalk walk() const { return walk_after(start_); }
  static NodeWalk walk_after(NodeId origin) { return {origin, origin, false, std::nullopt, 0}; }
  /// The node has no free capacity any more. It stays among the nodes.
  void filled(NodeId node) { filled_.insert(node); }

  /// Goes on with a walk over several nodes until visit(node) is true. False: the walk has come to its end.
  template <class Visit>
  bool go_on(NodeWalk& walk, Visit visit) const;

  /// The nodes near the input of a pending task of the stage (on the node or in the rack), and those where one was placed, in the
  /// order of walk(). Nothing: there are enough of them that a walk over all nodes costs no more; or, with `all_prefer`, some task
  /// has no preference.
  std::optional<std::vector<NodeId>> near(const StageInfo& stage, Locality level, bool all_prefer) const;

 private:
  template <class Visit>
  bool visit_range(NodeWalk& walk, const NodeId* most, Visit& visit) const;

  const ClusterView* view_ = nullptr;
  NodeId start_, only_;
  std::size_t count_ = 0;
  std::set<NodeId> filled_;
};

template <class Visit>
bool FreeNodes::visit_range(NodeWalk& walk, const NodeId* most, Visit& visit) const {
  const std::set<NodeId>& free = view_->free_nodes();
  auto next_free = free.upper_bound(walk.at);
  auto next_filled = filled_.upper_bound(walk.at);
  for (;;) {
    const bool some_free = next_free != free.end(), some_filled = next_filled != filled_.end();
    if (!some_free && !some_filled) return false;
    const bool takes_free = some_free && (!some_filled || *next_free < *next_filled);
    const NodeId node = takes_free ? *next_free++ : *next_filled++;  // before the visit, after which it may not be free any more
    if (most != nullptr && node > *most) return false;
    walk.at = node;
    if (visit(node)) return true;
  }
}

template <class Visit>
bool FreeNodes::go_on(NodeWalk& walk, Visit visit) const {
  if (walk.listed) {
    while (walk.position < walk.listed->size()) {
      walk.at = (*walk.listed)[walk.position++];
      if (visit(walk.at)) return true;
    }
    return false;
  }
  if (!walk.wrapped) {
    if (visit_range(walk, nullptr, visit)) return true;
    walk.wrapped = true;
    walk.at = NodeId();
  }
  return visit_range(walk, &walk.origin, visit);
}

}  // namespace weft::schedulers

// Which nodes are to blame for failures: consecutive failures exclude a node for a while, a task avoids the node where it failed,
// and of nodes that are gone it is remembered why.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/master/core/context.hpp"

namespace weft::master {

class NodeHealth {
 public:
  explicit NodeHealth(CoreContext& context) : context_(context) {}

  /// Whether a node of this id has ever joined.
  bool joined(NodeId node) const { return seen_.contains(node); }
  void join(NodeId node) { seen_.insert(node); }
  /// The node is about to leave the view.
  void note_loss(NodeId node, const std::string& reason);
  void forget(NodeId node) { failures_.erase(node); }

  /// A failure that the node is to blame for. Too many without a success between exclude it.
  void note_failure(NodeId node);
  void note_success(NodeId node) { failures_.erase(node); }
  /// The node takes no tasks for CoreOptions::exclusion; a timer ends that. The last usable node is never excluded.
  void exclude(NodeId node);
  /// The timer of its exclusion has fired.
  void readmit(NodeId node);

  /// Whether a usable node other than `than` is large enough for tasks of the stage.
  bool another_node(const schedulers::StageInfo& stage, NodeId than) const;
  /// Pending tasks of the stage that avoid a node, though there is no other one for them, avoid it no more.
  void lift_avoidance(schedulers::StageInfo& stage);
  void lift_avoidance();  // of all stages that have pending tasks

  /// "map 17's output was on worker w3, which was lost 2.1 s ago (connection reset)", or why it cannot be read there (`message`).
  std::string where_it_was(const shuffle::FetchFailure& fetch, const std::string& message) const;

 private:
  struct Lost {
    std::string name, reason;
    Time at{0};
  };

  CoreContext& context_;
  std::set<NodeId> seen_;
  std::map<NodeId, std::uint32_t> failures_;  // consecutive
  std::map<NodeId, Lost> lost_;               // the latest
};

}  // namespace weft::master

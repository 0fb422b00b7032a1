// Which nodes are to blame for failures: consecutive failures exclude a node for a while, a task avoids the node where it failed, a
// worker that crashes again and again soon after its start gets no tasks until it has lived for a while, and of nodes that are gone
// it is remembered why.
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
  /// The node is in the view now. One whose worker has crashed three times in a row, each within a minute of being offered tasks,
  /// is on probation: it takes none for 20 s, and each further time for twice as long, a minute at most (a worker that lives for so
  /// long is well), even if it is the only one.
  void begin(NodeId node);
  /// The node is about to leave the view. Returns a remark on its worker's crashes beside the reason, or nothing.
  std::string note_loss(NodeId node, const std::string& reason);
  void forget(NodeId node) { failures_.erase(node); }
  /// Whether a node was lost within the last minute, other than by leaving in order.
  bool lost_lately() const;

  /// A failure that the node is to blame for. Too many without a success between exclude it.
  void note_failure(NodeId node);
  void note_success(NodeId node) { failures_.erase(node); }
  /// The node takes no tasks for CoreOptions::exclusion; a timer ends that. The last usable node is never excluded.
  void exclude(NodeId node);
  /// The timer of its exclusion has fired.
  void readmit(NodeId node);
  /// Why the node takes no tasks, when that is for its worker's crashes.
  std::string why_excluded(NodeId node) const;

  /// Whether a usable node other than `than` is large enough for tasks of the stage.
  bool another_node(const schedulers::StageInfo& stage, NodeId than) const;
  /// One of these on which the last task did not fail through the node's fault.
  bool good_node(const schedulers::StageInfo& stage, NodeId than) const;
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

  /// Of one worker, across its registrations. A worker without a name of its own is known by its host.
  struct Crashes {
    std::uint32_t early = 0;       // in a row, within a minute of being offered tasks
    std::uint32_t probations = 0;  // since one was not early
    std::string reason;            // of the last
    Time at{0};
  };
  std::string worker_of(NodeId node) const;
  std::string words_of(const Crashes& crashes) const;

  CoreContext& context_;
  std::set<NodeId> seen_;
  std::map<std::string, Crashes> crashes_;    // by worker
  std::map<NodeId, Time> offered_;            // since when, or from when on, it is offered tasks
  std::map<NodeId, std::uint32_t> failures_;  // consecutive
  std::map<NodeId, Lost> lost_;               // the latest
  std::optional<Time> last_loss_;             // of a node that did not leave in order
};

}  // namespace weft::master

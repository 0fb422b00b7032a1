// TaskReservations of preplaced tasks: while other nodes have other work, a task is kept for the node that its input is prefetched
// to (SCache).
#pragma once

#include <map>
#include <utility>

#include "schedulers/parts/reduce_racks.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Tasks are launched in two rounds. In the first, a node takes no task that was placed on another node, so jobs of lower rank use
/// its free capacity. Therefore tasks of a stage stay reserved no longer than half the duration of one, where that is known: the
/// cost of fetching again is a part of the duration. There is one exception: where the uplink of the node's rack is known, and
/// fetching the input from other racks across it would take longer, they stay reserved for kLongestKept, because other tasks use
/// the uplink, too.
///
/// In the second round a node takes any task, so that it does not idle. Again with one exception: where fetching across the uplink
/// would take longer than the other node needs to reach the task, the task stays reserved for as long as fetching would take. So
/// a wait for a node that never takes the task costs no more than moving the task would have cost. Tasks of urgent jobs (Urgency)
/// are never reserved.
class TaskReservations {
 public:
  static constexpr Time kLongestKept = std::chrono::seconds(5);

  void begin_round(bool first) {
    first_ = first;
    kept_ = false;
  }
  /// Whether a task was kept from a node in this round, so that a second one may launch more.
  bool kept() const { return kept_; }
  /// Whether the pending task is reserved for another node than this now. Where that ends by itself, `decisions` gets a wake-up.
  bool keeps(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task, const NodeInfo& node,
             Decisions& decisions);
  /// A task of the stage is about to be launched on the node.
  void launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node);
  void ended(JobId job);

 private:
  /// Of a stage none of whose tasks was launched where it was placed, though other nodes had free capacity.
  struct Wait {
    Time since{0};
    RackParts there;  // the parts of its input by rack, when the wait began; where uplinks are known
  };
  using Waits = std::map<std::pair<JobId, StageId>, Wait>;

  bool first_ = false, kept_ = false;
  Waits busy_, idle_;  // while the other nodes had other work; while they had none
};

}  // namespace weft::schedulers

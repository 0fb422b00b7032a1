// Tasks that were placed on a node before they are launched, because their input is being brought there (SCache), are kept for it
// while other nodes have other work.
#pragma once

#include <map>
#include <utility>

#include "schedulers/parts/reduce_racks.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Room is given away in two rounds. In the first a node takes no task that was placed on another. So jobs of lower rank use the
/// room meanwhile; therefore tasks of a stage are kept no longer than half of what one takes, where that is known: what fetching
/// again would cost is a part of that. Only where the uplink of the node's rack is known, and fetching across it what lies in other
/// racks would take longer, are they kept for kLongestKept, because other tasks fetch across it, too.
///
/// In the second round a node takes what it gets, so that none idles – but where fetching again across the uplink would take longer
/// than the other node needs to come to the task, it leaves the task there for as long as fetching would take. So what is lost by
/// waiting for a node that does not come to it is at most what moving the task would have cost. Nothing is kept of jobs that are in
/// haste (WhoNext::in_haste).
class Promises {
 public:
  static constexpr Time kLongestKept = std::chrono::seconds(5);

  void begin_round(bool first) {
    first_ = first;
    kept_ = false;
  }
  /// Whether a second round may find more.
  bool kept() const { return kept_; }
  /// Whether the pending task is kept from this node now. When that is to end by itself, `decisions` gets a wake-up.
  bool keeps(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task, const NodeInfo& node,
             Decisions& decisions);
  /// A task of the stage is about to be launched on the node.
  void launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node);
  void ended(JobId job);

 private:
  /// Of a stage of which no task went where it was placed, though others had room.
  struct Wait {
    Time since{0};
    RackParts there;  // of what it reads, when it began; where uplinks are known
  };
  using Waits = std::map<std::pair<JobId, StageId>, Wait>;

  bool first_ = false, kept_ = false;
  Waits busy_, idle_;  // others had other work as well; they had none
};

}  // namespace weft::schedulers

// Tasks that were placed on a node before they are launched, because their input is being brought there (SCache), are kept for it
// while other nodes have other work.
#pragma once

#include <map>
#include <utility>

#include "schedulers/scheduler.hpp"

namespace weft::schedulers {

/// Room is given away in two rounds. In the first a node takes no task that was placed on another, unless those of its stage have
/// been kept for longer than kLongestKept – their node may be busy for hours – or than half of what such a task takes, where that is
/// known and no uplink of known rate lies between: jobs of lower rank use the room meanwhile, and fetching again takes a part of the
/// task's time. In the second it takes what it gets, so that no node
/// idles – but where the uplink of its rack is known and fetching again what was brought to the other node would take longer than
/// that one needs to come to the task, it leaves the task there for as long as fetching would take. So what is lost by waiting for
/// a node that does not come to it is at most what moving the task would have cost. Nothing is kept of jobs that are in haste
/// (WhoNext::in_haste).
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
  /// By stage, since when no task went where it was placed, though others had room.
  using Since = std::map<std::pair<JobId, StageId>, Time>;

  bool first_ = false, kept_ = false;
  Since since_, idle_since_;  // others had other work as well; they had none
};

}  // namespace weft::schedulers

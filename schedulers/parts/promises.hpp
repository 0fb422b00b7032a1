// Tasks that were placed on a node before they are launched, because their input is being brought there (SCache), are kept for it
// while other nodes have other work.
#pragma once

#include <map>
#include <utility>

#include "schedulers/scheduler.hpp"

namespace weft::schedulers {

/// Room is given away in two rounds. In the first a node takes no task that was placed on another, unless those of its stage have
/// been kept for longer than kLongestKept: their node may be busy for hours. In the second it takes what it gets, so no node idles.
class Promises {
 public:
  static constexpr Time kLongestKept = std::chrono::seconds(5);

  void begin_round(bool first) {
    first_ = first;
    kept_ = false;
  }
  /// Whether a second round may find more.
  bool kept() const { return kept_; }
  /// Whether the pending task is kept from this node now.
  bool keeps(const ClusterView& view, JobId job, const StageInfo& stage, std::uint32_t task, NodeId node);
  /// A task of the stage is about to be launched on the node.
  void launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node);
  void ended(JobId job);

 private:
  bool first_ = false, kept_ = false;
  std::map<std::pair<JobId, StageId>, Time> since_;  // no task went where it was placed, though others had room
};

}  // namespace weft::schedulers

// How fast nodes are, against the median of the tasks of the same stages.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "base/ids.hpp"
#include "schedulers/view/state.hpp"

namespace weft::master {

/// The latest amounts of a series, and their median. Fixed memory.
class RecentMedian {
 public:
  void add(double amount) { amounts_[count_++ % kKept] = amount; }
  std::uint64_t count() const { return count_; }
  /// Of none: 0.
  double median() const;

 private:
  static constexpr std::size_t kKept = 15;
  std::array<double, kKept> amounts_{};
  std::uint64_t count_ = 0;
};

/// A task's pace is how long it took, over the median of its stage's latest tasks; the speed of a node is 1 over the median of its
/// latest paces (NodeInfo::speed). Medians, because some tasks always take long through no fault of their node. Tasks that read
/// more than the mean of their stage may take longer in proportion.
class NodeSpeeds {
 public:
  explicit NodeSpeeds(schedulers::ClusterState& view) : view_(view) {}

  /// A task of the stage ended there in that time; `stage` has it already, and `recent` is the stage's.
  void note(const schedulers::StageInfo& stage, RecentMedian& recent, NodeId node, schedulers::Time took, std::uint64_t bytes);
  void forget(NodeId node) { paces_.erase(node); }

 private:
  schedulers::ClusterState& view_;
  std::map<NodeId, RecentMedian> paces_;
};

}  // namespace weft::master

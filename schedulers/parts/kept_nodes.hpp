// Nodes that are kept for tasks that are larger than what is free anywhere. Without that, smaller tasks take each core as it
// becomes free, and a larger one never runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// A node is kept for one task of a job that has waited longer than its share allows: no other job's tasks are launched there until
/// that task is, or the job needs it no more. One for each such job, and of all nodes one in ten (at least one), the one that lacks
/// least.
class KeptNodes {
 public:
  static constexpr Time kLook = std::chrono::seconds(5);  // the time between two looks at all jobs
  static constexpr std::size_t kPart = 10;                // of all nodes one in this many

  void on_event(const Notice& notice);
  /// A scheduler is called. `overdue(job)`: whether the job has waited so long.
  template <class Overdue>
  void update(const ClusterView& view, const Overdue& overdue);
  /// Whether the node is kept for another job.
  bool keeps_from(NodeId node, JobId job) const {
    const auto kept = kept_.find(node);
    return kept != kept_.end() && kept->second.job != job;
  }

 private:
  struct Task {
    JobId job;
    StageId stage;
  };

  static const StageInfo* pending_stage(const ClusterView& view, const Task& task);
  bool has_node(JobId job) const;
  /// The stage of the job whose tasks fit on no node now, though some node is large enough; and that node.
  void keep_for(const ClusterView& view, const JobInfo& job, std::vector<Resources>& fitting);
  bool fits_somewhere(const ClusterView& view, JobId job, const Resources& demand) const;
  std::optional<NodeId> node_for(const ClusterView& view, const Resources& demand) const;

  std::map<NodeId, Task> kept_;
  std::optional<Time> looked_;
};

template <class Overdue>
void KeptNodes::update(const ClusterView& view, const Overdue& overdue) {
  std::erase_if(kept_, [&](const auto& kept) {
    const StageInfo* const stage = pending_stage(view, kept.second);
    if (stage == nullptr || !overdue(*view.job(kept.second.job))) return true;
    const NodeInfo* const node = view.node(kept.first);
    return node == nullptr || !node->usable() || !fits(stage->demand, {}, node->capacity);
  });
  if (looked_ && view.now() - *looked_ < kLook) return;
  looked_ = view.now();
  const std::size_t most = std::max<std::size_t>(1, view.nodes().size() / kPart);
  std::vector<Resources> fitting;  // demands that fit a node now
  for (const JobOrder& order : view.runnable_jobs()) {
    if (kept_.size() >= most) return;
    const JobInfo& job = *view.job(order.id);
    if (!has_node(job.id) && overdue(job)) keep_for(view, job, fitting);
  }
}

}  // namespace weft::schedulers

// Nodes that are kept for tasks that are larger than what is free anywhere. Without that, smaller tasks take each core as it
// becomes free, and a larger one never runs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// A node is kept for one task of a job that has waited longer than its share allows: no other job's tasks are launched there until
/// that task is, or the job needs the node no more. Each such job has one node at most, and all of them one in ten of the cluster's
/// (at least one). The node is the one that lacks least of those that may run such a task.
///
/// Where the node has room and the task is not launched there for kLongestRoom, something else than room keeps the task from
/// running: the node is everybody's again, and none is kept for that stage any more.
class KeptNodes {
 public:
  static constexpr Time kLook = std::chrono::seconds(5);          // the time between two looks at all jobs
  static constexpr Time kLongestRoom = std::chrono::seconds(20);  // no task waits as long for a node near its input
  static constexpr std::size_t kPart = 10;                        // of all nodes one in this many

  void on_event(const Notice& notice);
  /// A scheduler is called. `overdue(job)`: whether the job has waited so long. `decisions` gets a wake-up where a node is to be
  /// given up.
  void update(const ClusterView& view, const std::function<bool(const JobInfo&)>& overdue, Decisions& decisions);
  /// Whether the node is kept for another job.
  bool keeps_from(NodeId node, JobId job) const {
    const auto kept = kept_.find(node);
    return kept != kept_.end() && kept->second.job != job;
  }

 private:
  struct Task {
    JobId job;
    StageId stage;
    std::optional<Time> room_since;  // the node has room for it
  };

  /// False: the node is to be everybody's again.
  bool still_kept(const ClusterView& view, NodeId id, Task& task, Decisions& decisions);
  bool has_node(JobId job) const;
  /// Keeps a node for the first stage of the job whose tasks fit on none now. `fitting`: demands that are known to fit somewhere.
  void keep_for(const ClusterView& view, const JobInfo& job, std::vector<Resources>& fitting);
  bool fits_somewhere(const ClusterView& view, JobId job, const Resources& demand) const;
  std::optional<NodeId> node_for(const ClusterView& view, const StageInfo& stage) const;

  std::map<NodeId, Task> kept_;
  std::set<std::pair<JobId, StageId>> given_up_;  // of live jobs
  std::optional<Time> looked_;
};

}  // namespace weft::schedulers

// The writing side of the ClusterView: for the master core, and for tests of policies. It keeps all indexes up to date. Callers
// pass ids that exist: the core has checked its events.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

class ClusterState final : public ClusterView {
 public:
  void set_now(Time now) { now_ = now; }
  void set_heartbeat(Time interval) { heartbeat_ = interval; }
  HostId intern_host(const std::string& name);

  /// Sets `node.host` and `node.rack` from the names. The uplink is the rack's; rates that are 0 are not known and change nothing.
  NodeInfo& add_node(NodeInfo node, const std::string& host, const std::string& rack, const UplinkRate& uplink);
  /// Its running attempts must have been vacated.
  void remove_node(NodeId id);
  void exclude(NodeId id, std::optional<Time> until);
  /// For good: a worker that comes back is another node.
  void set_leaving(NodeId id);
  /// The worker of a node that was added as away is there.
  void set_back(NodeId id);
  NodeInfo& mutable_node(NodeId id) { return nodes_.at(id); }
  /// Running tasks may use more than that.
  void set_capacity(NodeId id, const Resources& capacity);
  void set_cross_rack(NodeId id, const UplinkRate& rate);

  JobInfo& add_job(JobInfo job);
  /// No task of it may be running.
  void remove_job(JobId id);
  JobInfo& mutable_job(JobId id) { return jobs_.at(id); }

  /// `hosts[i]`: where the input of task i lies. All tasks are blocked until set_ready().
  StageInfo& add_stage(JobInfo& job, StageInfo stage, std::uint32_t tasks, const std::vector<std::vector<HostId>>& hosts);
  /// Changes the number of tasks of a stage that was never ready and whose tasks have no preferred hosts and no places.
  void set_task_count(StageInfo& stage, std::uint32_t count);
  /// Blocked tasks become pending, or pending ones blocked.
  void set_ready(JobInfo& job, StageInfo& stage, bool ready);
  /// Any change of a task's state goes through here (a pending task of a stage that is not ready becomes blocked).
  void set_task(JobInfo& job, StageInfo& stage, std::uint32_t task, TaskState state);
  /// Sets the node that a pending task must not go to from now on.
  void set_avoid(StageInfo& stage, std::uint32_t task, std::optional<NodeId> avoid);
  void preplace(StageInfo& stage, std::uint32_t task, std::optional<NodeId> node);

  /// Of a running task. A task that stops running is no straggler any more.
  void set_straggler(const TaskId& task, bool straggles);
  void clear_stragglers() { stragglers_.clear(); }
  /// A speculative attempt at a running straggler, now.
  SpeculativeAttempt& add_speculative(const TaskId& task, StageInfo& stage, NodeId node);
  /// The speculative attempt is gone; or the first one is, and the speculative attempt takes its place.
  void drop_speculative(StageInfo& stage, std::uint32_t task) { stage.speculative.erase(task); }
  void promote_speculative(StageInfo& stage, std::uint32_t task);

  /// With `device` the attempt holds one of the node's devices until it is vacated, beside its demand.
  void occupy(NodeId node, const AttemptId& attempt, JobInfo& job, const Resources& demand, bool device = false);
  /// An attempt that occupies the node is found to hold one of its devices.
  void hold_device(NodeId node, const AttemptId& attempt, JobInfo& job, const Resources& demand);
  void vacate(NodeId node, const AttemptId& attempt, JobInfo& job, const Resources& demand);

  /// The jobs with changes of pending or running tasks since the last call, each once; some may have ended. For
  /// Notice::job_changed.
  std::vector<JobId> take_changed_jobs();

 private:
  void usability_changed(const NodeInfo& node, bool before);
  void charge(NodeInfo& node, JobInfo& job, const Resources& taken);
  void update_free(const NodeInfo& node);
  void count_pending(JobInfo& job, StageInfo& stage, std::int64_t change);
  void changed(const JobInfo& job);

  std::vector<JobId> changed_jobs_;
};

}  // namespace weft::schedulers

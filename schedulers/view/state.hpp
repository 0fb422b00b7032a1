// The writing side of the ClusterView: used by the master core, and by tests of policies. Keeps every index in step.
// Callers pass ids that exist; the core checks events before it comes here.
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

  /// `node.host`, `node.rack` are filled from the names. The uplink is the rack's; rates that are 0 are not known and change
  /// nothing.
  NodeInfo& add_node(NodeInfo node, const std::string& host, const std::string& rack, const UplinkRate& uplink);
  /// Its running attempts must have been vacated.
  void remove_node(NodeId id);
  void exclude(NodeId id, std::optional<Time> until);
  /// For good: what comes back is another node.
  void set_leaving(NodeId id);
  NodeInfo& mutable_node(NodeId id) { return nodes_.at(id); }
  /// What runs there may be more than that.
  void set_capacity(NodeId id, const Resources& capacity);
  void set_cross_rack(NodeId id, const UplinkRate& rate);

  JobInfo& add_job(JobInfo job);
  /// No task of it may be running.
  void remove_job(JobId id);
  JobInfo& mutable_job(JobId id) { return jobs_.at(id); }

  /// `hosts[i]`: where the input of task i lies. All tasks are blocked until set_ready().
  StageInfo& add_stage(JobInfo& job, StageInfo stage, std::uint32_t tasks, const std::vector<std::vector<HostId>>& hosts);
  /// More or fewer tasks for a stage that was never ready, none of whose tasks has a preferred host or was preplaced.
  void set_task_count(StageInfo& stage, std::uint32_t count);
  /// Blocked tasks become pending, or pending ones blocked.
  void set_ready(JobInfo& job, StageInfo& stage, bool ready);
  /// Any change of a task's state goes through here (a pending task of a stage that is not ready becomes blocked).
  void set_task(JobInfo& job, StageInfo& stage, std::uint32_t task, TaskState state);
  /// For a pending task, where it must not go from now on.
  void set_avoid(StageInfo& stage, std::uint32_t task, std::optional<NodeId> avoid);
  void preplace(StageInfo& stage, std::uint32_t task, std::optional<NodeId> node);

  /// Of a running task. One that stops running is none any more.
  void set_straggler(const TaskId& task, bool straggles);
  void clear_stragglers() { stragglers_.clear(); }
  /// A speculative attempt at a running straggler, now.
  SpeculativeAttempt& add_speculative(const TaskId& task, StageInfo& stage, NodeId node);
  /// The speculative attempt is gone, or it takes the place of the first, which is.
  void drop_speculative(StageInfo& stage, std::uint32_t task) { stage.speculative.erase(task); }
  void promote_speculative(StageInfo& stage, std::uint32_t task);

  void occupy(NodeId node, const AttemptId& attempt, JobInfo& job, const Resources& demand);
  void vacate(NodeId node, const AttemptId& attempt, JobInfo& job, const Resources& demand);

  /// The jobs whose pending or running tasks changed since the last call (some may be gone), each once: for Notice::job_changed.
  std::vector<JobId> take_changed_jobs();

 private:
  void usability_changed(const NodeInfo& node, bool before);
  void update_free(const NodeInfo& node);
  void count_pending(JobInfo& job, StageInfo& stage, std::int64_t change);
  void changed(const JobInfo& job);

  std::vector<JobId> changed_jobs_;
};

}  // namespace weft::schedulers

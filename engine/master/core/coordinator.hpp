// The core's inside: a coordinator of its parts. Each event is checked, applied to the parts it concerns, and then the scheduler is
// called if there is anything for it. Split over core*.cpp by kind of event.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/core/attempts.hpp"
#include "engine/master/core/checked_decisions.hpp"
#include "engine/master/core/context.hpp"
#include "engine/master/core/failures.hpp"
#include "engine/master/core/node_health.hpp"
#include "engine/master/core/node_speeds.hpp"
#include "engine/master/core/output_replicas.hpp"
#include "engine/master/core/oversized_tasks.hpp"
#include "engine/master/core/preplacement.hpp"
#include "engine/master/core/restored.hpp"
#include "engine/master/core/rollback.hpp"
#include "engine/master/core/round_eviction.hpp"
#include "engine/master/core/shuffles.hpp"
#include "engine/master/core/slow_start.hpp"
#include "engine/master/core/straggler_watch.hpp"

namespace weft::master {

class Core::Impl {
 public:
  Impl(std::unique_ptr<schedulers::Scheduler> scheduler, const CoreOptions& options, SchedulerFactory factory);

  void restore(Time now, Restored restored, std::vector<Command>& commands);  // core_restore.cpp
  Result<void> apply(Time now, Event event, std::vector<Command>& commands);
  Result<JobStatus> job(JobId id, bool predict) const;
  std::vector<JobStatus> jobs() const;
  Result<JobExplanation> explain(JobId id) const;
  std::optional<StageShape> shape(JobId job, StageId stage) const;  // core_restore.cpp
  NodeRemains remains(NodeId node) const;                           // core_nodes.cpp
  std::string why_excluded(NodeId node) const { return health_.why_excluded(node); }
  const CoreContext& context() const { return context_; }
  const SchedulerConfigured& configuration() const { return configuration_; }

 private:
  // Events. Each checks everything before it changes anything.
  Result<void> on(JobSubmitted event);  // core_jobs.cpp
  Result<void> on(PlanExtended event);
  Result<void> on(const JobClosed& event);
  Result<void> on(JobKilled event);
  Result<void> on(DriverFailed event);
  Result<void> on(WorkerJoined event);  // core_nodes.cpp
  Result<void> on(WorkerHeartbeat event);
  Result<void> on(const WorkerLost& event);
  Result<void> on(CapacityChanged event);
  Result<void> on(const WorkerLeaving& event);
  Result<void> on(const WorkerRejoined& event);  // core_restore.cpp
  Result<void> on(TaskFinished event);           // core_tasks.cpp
  Result<void> on(TaskFailed event);
  Result<void> on(const OutputReplicated& event) { return replicas_.made(event.replica); }
  Result<void> on(const ReplicaFailed& event) { return replicas_.failed(event.replica, event.message); }
  Result<void> on(const TimerFired& event);  // core.cpp
  Result<void> on(SchedulerConfigured event);

  void run_scheduler();
  bool make_way(const std::optional<TaskRef>& stopped);

  // Jobs.
  static schedulers::JobInfo info_of(const JobSubmitted& event);
  JobRecord& add_job(JobSubmitted event, schedulers::JobInfo info);
  void extend(JobRecord& job, PlanExtended event);
  void add_stage(JobRecord& job, plan::Stage stage, std::optional<schedulers::StageProfile> profile);
  void finish_actions(JobRecord& job);
  void end_job(JobRecord& job, JobState state, const Error* error);

  // Nodes.
  void set_capacity(NodeId node, const schedulers::Resources& capacity);
  void check_heartbeat(NodeId node);
  void lose_node(NodeId node, const std::string& reason);
  bool lose_node(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why);

  // Finished tasks.
  void finish(const TaskRef& task, TaskFinished& event);
  void keep(const TaskRef& task, TaskFinished& event, Time took);
  void after_finish(const TaskRef& task, NodeId node);

  // Restoration (core_restore.cpp).
  static schedulers::NodeInfo info_of(WorkerJoined& event);  // core_nodes.cpp; takes its texts
  void restore_node(RestoredNode& node);
  void restore_job(RestoredJob& from, const std::function<void(PlanExtended&)>& profiles);
  static schedulers::TaskInfo* note_attempt(JobRecord& job, const AttemptId& attempt, std::uint32_t next, std::uint32_t restarts);
  static void skip_attempts(schedulers::TaskInfo& task, std::uint32_t first);
  void restore_shape(JobRecord& job, const StageShape& shape);
  void restore_end(JobRecord& job, RestoredEnd& end);
  void restore_figures(JobRecord& job, RestoredJob& from);
  static bool may_count(const JobRecord& job, const StageRecord& stage, const AttemptId& attempt);
  bool adopt(const AttemptId& attempt, NodeId node, Time launched);
  void give_back(NodeId node, const std::set<AttemptId>& running);
  void all_back();
  void resend_locations(const AttemptId& attempt, NodeId node);
  void take_up(const AttemptId& attempt, NodeId node);
  void hold_device(const AttemptId& attempt, NodeId node);
  bool compare_outputs(JobRecord& job, StageRecord& stage, NodeId node, const std::multimap<std::uint32_t, std::uint32_t>& held);
  Time silence_of(NodeId node) const;

  static void add_counters(const TaskRef& task, const TaskFinished& event, Time took);
  void store_output(const TaskRef& task, const TaskFinished& event);
  void store_result(const TaskRef& task, Buffer result);

  CoreContext context_;
  NodeHealth health_;
  NodeSpeeds speeds_;
  OversizedTasks oversized_;
  SlowStart slow_start_;
  StragglerWatch stragglers_;
  OutputReplicas replicas_;
  RoundEviction rounds_;
  Preplacement preplacement_;
  Shuffles shuffles_;
  Attempts attempts_;
  Failures failures_;
  Rollback rollback_;
  CheckedDecisions decisions_;
  SchedulerConfigured configuration_;
  std::vector<std::uint64_t> sizes_;  // scratch
};

}  // namespace weft::master

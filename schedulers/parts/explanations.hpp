// Why jobs launch nothing: the reasons that the dispatcher records with hold().
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

#include "schedulers/parts/dispatch_call.hpp"
#include "schedulers/parts/task_finder.hpp"

namespace weft::schedulers {

class Explanations {
 public:
  /// All outlive it.
  Explanations(const Composition& parts, const DispatchCall& call, const TaskFinder& finder)
      : parts_(parts), call_(call), finder_(finder) {}

  void on_event(const Notice& notice);
  void begin_call();
  /// While muted nothing is recorded: further nodes will ask, and one of them may take the task.
  void mute(bool muted) { muted_ = muted; }
  bool muted() const { return muted_; }

  void hold(JobId job, std::optional<StageId> stage, std::string_view reason);
  /// Of the ordering policy. A job that waits for a better place keeps that reason in this call.
  void hold_by_policy(JobId job, std::string_view reason);
  /// No node has free capacity for the job: recorded once, until something of the job changes.
  void no_capacity(JobId job);
  /// A limit keeps the job, or one of its stages, from launching. Recorded in the last pass.
  void at_limit(JobId job, std::optional<StageId> stage);
  /// No node took a task of the stage, which may run as far from its input as `allowed`. Tells the placement, where one answers.
  void not_launched(const JobInfo& job, const StageInfo& stage, Locality allowed);
  /// The job has skipped the node that asks.
  void skipped(JobId job);

 private:
  const Composition& parts_;
  const DispatchCall& call_;
  const TaskFinder& finder_;
  bool muted_ = false;
  std::unordered_set<JobId> without_capacity_;  // recorded, and not changed since
  std::set<JobId> skipped_;                     // jobs that wait for a better place, in this call
};

}  // namespace weft::schedulers

// Attempts at tasks: finding them, launching and stopping them, and what becomes of a task whose attempt is gone. A task may run in
// two attempts (speculation); the first to finish is the task's.
#pragma once

#include <string>
#include <string_view>

#include "engine/master/core/context.hpp"
#include "engine/master/core/shuffles.hpp"
#include "engine/master/core/straggler_watch.hpp"

namespace weft::master {

class Attempts {
 public:
  Attempts(CoreContext& context, Shuffles& shuffles, SlowStart& slow_start, StragglerWatch& stragglers)
      : context_(context), shuffles_(shuffles), slow_start_(slow_start), stragglers_(stragglers) {}

  /// The running attempt that a worker speaks of. cancelled for one that runs no more (it is fenced), not_found for one that never
  /// was.
  Result<TaskRef> running(const AttemptId& attempt, NodeId node);
  /// Of an attempt that is known to run.
  TaskRef at(const AttemptId& running);

  /// Launches the task there, or a speculative attempt when it runs already. The view must allow it (ClusterView::why_not).
  void launch(const TaskId& task, NodeId node, std::string_view reason);
  void kill(const TaskRef& task, KillCause cause, std::string reason);

  // An attempt has ended or is to be no more: first it is counted and its room is given back, then its task is finished (by the
  // caller), or it is given up.
  using Fate = std::uint32_t StageAttempts::*;  // which of its counts an attempt that has ended adds to
  void release(const TaskRef& task, Fate fate);
  void vacate(const TaskRef& task, Fate fate);  // and the scheduler may be called for the node
  /// The other attempt is the task's attempt now, or the task waits again.
  void give_up(const TaskRef& task);
  /// As give_up(), after a fault; the task avoids that node, if there is another one for it.
  void requeue(const TaskRef& task, std::optional<NodeId> avoid);
  /// `winner` has finished while the other attempt at its task runs: it is the task's attempt, and the other one is killed.
  void win(const TaskRef& winner);

 private:
  void send_launch(JobRecord& job, StageRecord& stage, const AttemptId& attempt, NodeId node, std::string_view reason);
  void notify(schedulers::Notice::Kind kind, const TaskId& task, NodeId node);

  CoreContext& context_;
  Shuffles& shuffles_;
  SlowStart& slow_start_;
  StragglerWatch& stragglers_;
};

}  // namespace weft::master

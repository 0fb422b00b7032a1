// The core's way to its scheduler, which may be a user's own: it may throw, and decide nonsense without end. No call through the
// port throws. What a call had decided before its fault stands; the fault is kept, and the scheduler is called again at the next
// event. A scheduler that never returns is for the shell to notice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/master/core/core.hpp"
#include "schedulers/view/state.hpp"

namespace weft::master {

class SchedulerPort {
 public:
  /// `max_refusals`, `max_decisions`: in one call, then it is cut off. Without a factory configure() is refused.
  SchedulerPort(std::unique_ptr<schedulers::Scheduler> scheduler, SchedulerFactory factory, schedulers::ClusterState& view,
                std::uint32_t max_refusals, std::uint32_t max_decisions);

  /// Before the first call. A scheduler that cannot start is called all the same.
  void start();
  /// Another scheduler, or another configuration, for jobs that may be running: the new one sees them, and the old one, when it
  /// starts. After an error the old one goes on.
  Result<void> configure(const SchedulerConfigured& event);

  // Calls.
  void schedule(const schedulers::Trigger& trigger,
                schedulers::Decisions& decisions);  // then speculate(), if that could do anything
  void preplace(const schedulers::Preplaceable& what, schedulers::Decisions& decisions);
  void notify(const schedulers::Notice& notice);
  /// Of jobs whose tasks have changed since the last call of this.
  void notify_changed_jobs();
  /// A job is let in when the scheduler fails to answer.
  Result<void> admit(const schedulers::JobInfo& job);
  /// Of a job that asks for none; 1 when it fails to answer, or answers with no part.
  double slow_start(const schedulers::JobInfo& job);
  /// By submission when it fails to answer.
  schedulers::RoundOrder round_order();
  /// Nothing when it fails to answer.
  std::optional<std::uint32_t> far_prefetches(RackId rack);
  /// The error is what it threw.
  Result<std::vector<schedulers::GroupStatus>> groups() const;

  /// By the present proportion when it fails to answer.
  schedulers::Sharing sharing() const;

  // Called by its decisions; both throw through the scheduler's frames to cut off a call that has used up what it may decide.
  void count_decision();
  void count_refusal(const std::string& why);

  const SchedulerFaults& faults() const { return faults_; }

 private:
  template <class Call>
  void guarded(Call&& call);
  void failed(const std::string& what);

  std::unique_ptr<schedulers::Scheduler> scheduler_;
  SchedulerFactory factory_;
  schedulers::ClusterState& view_;
  const std::uint32_t max_refusals_, max_decisions_;
  std::uint32_t refused_now_ = 0, decided_now_ = 0;  // in the current call
  SchedulerFaults faults_;
};

}  // namespace weft::master

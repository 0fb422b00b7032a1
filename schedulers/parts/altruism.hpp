// Altruistic launches (Carbyne: Grandl et al., OSDI 2016, section 3): a job launches only the tasks that must begin now so that it
// ends as early as its share allows, and lends the rest of its share to later passes.
//
// Each job has a plan (planning/job_plan.hpp): its DAG packed backwards into its share. In a pass with this limit, a job launches
// the tasks that are due by its plan. With `safe`, the capacity that plans need is kept free: SpareCapacity lets later passes
// launch a task only if it will have ended before a plan needs its capacity. So without arrivals, with true estimates and on one
// machine, no job ends later than its first plan (the paper's theorem 3.1, which needs more than the paper's pseudo code: a
// borrower keeps the capacity until its task ends).
//
// A share that is too small for a task of its job is lent until the job must begin to run one task after the other in order to end
// when it would have ended with its share alone; not so with `safe`. The Fair Sojourn Protocol does the same (Friedman and
// Henderson, SIGMETRICS 2003): its jobs run one after the other and end no later than if they had run side by side.
//
// A job whose durations are not known, or whose tasks took far more or less time than believed (JobPlan::trusted), is not
// altruistic: it launches all that fits its share. So does any job with probability 1 - `altruism`, in each call of the scheduler.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/loans.hpp"
#include "schedulers/parts/ranked_set.hpp"
#include "schedulers/planning/job_plan.hpp"

namespace weft::schedulers {

struct AltruismOptions {
  double altruism = 1;
  std::uint64_t seed = 1;
  PlanOptions plan{};
};

/// A call looks only at the jobs for which something has changed since the last one: their own events, their shares, or the times
/// at which their plans have tasks due.
class Altruism final : public Limit {
 public:
  Altruism(std::unique_ptr<JobShares> shares, const AltruismOptions& options);

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void plan(const ClusterView& view) override;
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override;
  bool may_launch(const ClusterView& view, const JobInfo& job) override;
  void decided(const ClusterView& view, Decisions& decisions) override;

  /// Offers the jobs that may launch, until one does: by priority and submission. See OrderingPolicy::offer.
  bool offer(const ClusterView& view, Launcher& launcher);
  /// Whether the believed durations of the job are good enough to delay any of its tasks.
  bool trusts(JobId job) const {
    const auto found = plans_.find(job);
    return found != plans_.end() && found->second.plan.trusted();
  }
  /// For passes that use the leftover capacity: begins one.
  void begin_leftover(const ClusterView& view);
  /// Whether a task of the stage, launched now, displaces no planned task until it ends.
  bool fits_leftover(const ClusterView& view, const JobInfo& job, const StageInfo& stage);

 private:
  struct Planned {
    JobPlan plan;
    bool greedy = false;        // it is not altruistic in this call
    bool early = false;         // its share is too small for a task, and it can still wait
    Time owed{-1};              // work that its share would still have to do; below 0: not known
    Time earned_at{0};          // when `owed` was computed
    std::string last_reason{};  // why it waits, as recorded
  };
  using AtTimes = RankedSet<JobId, std::pair<Time, JobId>, Planned*>;

  Planned& planned(const JobInfo& job);
  void touch(JobId job);
  void touch_all();
  void follow(const Notice& notice, const JobInfo& job, Planned& planned, const ClusterView& view);
  void earn(Time now, Planned& planned) const;
  static Time due_from(const Planned& planned);
  static Time next_step(const Planned& planned);
  static Time next_wake(const Planned& planned);
  void recount(const ClusterView& view);
  void take_capacity(const ClusterView& view);
  void advance(Time now);
  void renew(const ClusterView& view);
  void renew(Time now, Planned& planned, Parts& free);
  void toss_coins();
  void note(Planned& planned);
  void note_touched();
  Parts free_now(const ClusterView& view) const;
  Parts kept_share(const JobInfo& job) const;
  bool must_launch(const Planned& planned, std::optional<StageId> stage) const;
  void borrowed(const TaskId& task);
  void returned(const TaskId& task);
  void rank_lenders();
  void explain_changed(Decisions& decisions);
  void explain(Planned& planned, Decisions& decisions);
  std::string reason_of(const Planned& planned) const;

  ShareLimit share_limit_;
  AltruismOptions options_;
  Random random_;
  FutureCapacity future_;
  std::map<JobId, Planned> plans_;
  std::set<JobId> touched_;                    // jobs for which something has changed since the last plan()
  RankedSet<JobId, JobOrder, Planned*> open_;  // all jobs that may launch, and others that were not refused yet
  AtTimes steps_, wakes_;                      // when the next tasks of jobs become due; of those whose plans are trusted
  Loans loans_;
  RankedSet<JobId, std::pair<double, JobId>, JobId> lenders_;  // by what they leave of their shares, the most first
  std::set<JobId> to_rank_, to_explain_;                       // jobs for which that may have changed, or why they wait
  std::set<JobId> explained_;                                  // jobs that wait for a recorded reason
  JobId last_checked_{};                                       // of these
  Resources capacity_;                                         // the plans are made for
  Parts largest_{};                                            // the most that a node has of it
};

/// The jobs that `altruism` lets launch.
class AltruisticJobs final : public OrderingPolicy {
 public:
  explicit AltruisticJobs(Altruism& altruism) : altruism_(altruism) {}
  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override { return altruism_.offer(view, launcher); }

 private:
  Altruism& altruism_;
};

/// Limits later passes to the capacity that no plan needs.
class SpareCapacity final : public Limit {
 public:
  explicit SpareCapacity(Altruism& altruism) : altruism_(altruism) {}
  void plan(const ClusterView& view) override { altruism_.begin_leftover(view); }
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override {
    return altruism_.fits_leftover(view, job, stage);
  }

 private:
  Altruism& altruism_;
};

}  // namespace weft::schedulers

// Altruistic launches (Carbyne: Grandl et al., OSDI 2016, section 3): a job launches only the tasks that must begin now for it to
// end as early as its share would let it, and lends the rest of its share; later passes give that away.
//
// Each job has a plan (planning/job_plan.hpp): its DAG packed backwards into its share. Of a pass whose limit this is, a job gets
// what its plan says is due. Where `safe`, what all plans need is kept free: SpareRoom lets later passes launch a task only if
// it will have ended before anybody needs the room. So without arrivals, with true estimates and on one machine, no job ends later
// than its plan said first (the paper's theorem 3.1, which needs more than the paper's pseudo code: a task that was lent room keeps
// it until it ends).
//
// A share that holds no task of its job earns one bit by bit. Where plans are not kept, such a job lends it until the job must
// begin to run one task after the other to end when it would have ended with its share alone: as the Fair Sojourn Protocol does
// (Friedman and Henderson, SIGMETRICS 2003), whose jobs go one after the other and end no later than if they had run side by side.
//
// A job of which nobody knows how long its tasks take, or whose tasks were seen to take far more or less than was believed
// (JobPlan::trusted), is not altruistic: it launches all that it can inside its share, as it does with probability 1 - `altruism`
// in any call of the scheduler.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/loans.hpp"
#include "schedulers/planning/job_plan.hpp"

namespace weft::schedulers {

struct AltruismOptions {
  double altruism = 1;
  std::uint64_t seed = 1;
  PlanOptions plan{};
};

class Altruism final : public Limit {
 public:
  Altruism(std::unique_ptr<JobShares> shares, const AltruismOptions& options);

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void plan(const ClusterView& view) override;
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override;
  bool may_launch(const ClusterView& view, const JobInfo& job) override;
  void decided(const ClusterView& view, Decisions& decisions) override;

  /// Whether what is believed of the job's tasks is good enough to put any of them off.
  bool trusts(JobId job) const {
    const auto found = plans_.find(job);
    return found != plans_.end() && found->second.plan.trusted();
  }
  /// For passes that give away what is left: begins one, then whether the task has room until it ends.
  void begin_leftover(const ClusterView& view);
  bool has_spare_room(const ClusterView& view, const JobInfo& job, const StageInfo& stage);

 private:
  struct Planned {
    JobPlan plan;
    bool greedy = false;  // in this call
    bool early = false;   // its share holds no task, and it can still wait for one
    Time owed{-1};        // what its share has yet to earn until the job would have ended with it; below 0: not known
    Time earned_at{0};    // until when it was counted
    std::string told{};   // why it waits
  };

  Planned& planned(const JobInfo& job);
  void earn(Time now, Planned& planned) const;
  Time due_from(Time now, const Planned& planned) const;
  void recount(const ClusterView& view);
  void take_capacity(const ClusterView& view);
  void renew(const ClusterView& view);
  Parts free_now(const ClusterView& view) const;
  Parts kept_share(const JobInfo& job) const;
  bool must_launch(const Planned& planned, std::optional<StageId> stage) const;
  void borrowed(const TaskId& task);
  void explain(Time now, Planned& planned, Decisions& decisions) const;

  ShareLimit share_limit_;
  AltruismOptions options_;
  Random random_;
  RoomAhead room_;
  std::map<JobId, Planned> plans_;
  Loans loans_;
  Resources capacity_;  // the plans are made for
  Parts largest_{};     // of it that a node has at most
  std::uint64_t shares_seen_ = 0;
};

/// What plans leave, and who keeps to it.
class SpareRoom final : public Limit {
 public:
  explicit SpareRoom(Altruism& altruism) : altruism_(altruism) {}
  void plan(const ClusterView& view) override { altruism_.begin_leftover(view); }
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override {
    return altruism_.has_spare_room(view, job, stage);
  }

 private:
  Altruism& altruism_;
};

}  // namespace weft::schedulers

// A bound on starvation for policies that may pass a job over: jobs that must begin now to end when they would have ended if all
// had shared fairly.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "schedulers/parts/fair_ends.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/ranked_set.hpp"

namespace weft::schedulers {

/// Offers only those jobs, the one with the least work that is not launched first; of all others nothing. For a pass before those
/// of the policy.
class DueJobs final : public OrderingPolicy {
 public:
  explicit DueJobs(Weights weights) : ends_(std::move(weights)) {}

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  bool offers_all() const override { return false; }
  const FairEnds* fair_ends() const override { return &ends_; }

 private:
  using ByTime = std::pair<double, JobId>;
  using ByWork = std::pair<double, JobId>;

  void place(const JobInfo& job);
  void place_all(const ClusterView& view);

  FairEnds ends_;
  std::uint64_t placed_at_ = 0;
  std::map<ByTime, const JobInfo*> later_;  // jobs with pending tasks that can still wait, by the time when they cannot
  std::map<JobId, double> due_at_;          // of those
  RankedSet<JobId, ByWork, const JobInfo*> due_;
};

}  // namespace weft::schedulers

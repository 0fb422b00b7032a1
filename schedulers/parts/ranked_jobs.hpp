// Jobs by a number each has, smallest first: an order kept up to date as jobs change. For fifo, sjf, srtf and others with one score
// per job.
#pragma once

#include <utility>

#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/ranked_set.hpp"

namespace weft::schedulers {

inline JobOrder order_of(const JobInfo& job) { return {job.priority, job.submitted, job.id}; }

class RankedJobs : public OrderingPolicy {
 public:
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  Sharing sharing(const ClusterView& view) const override;

 protected:
  /// Smaller is earlier; of equal scores the job that is first by priority, submit time and id. May depend on the job and on the
  /// capacity of the cluster.
  virtual double score(const ClusterView& view, const JobInfo& job) const = 0;

 private:
  void place(const ClusterView& view, const JobInfo& job);
  void place_all(const ClusterView& view);

  Resources capacity_;                                                          // for which the scores were computed
  RankedSet<JobId, std::pair<double, JobOrder>, const JobInfo*> with_pending_;  // jobs with pending tasks
};

}  // namespace weft::schedulers

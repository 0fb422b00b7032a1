// Jobs by a number each has, smallest first: an order kept up to date as jobs change. For sjf, srtf and others with one score per
// job.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "schedulers/parts.hpp"

namespace weft::sched {

inline JobOrder order_of(const JobInfo& job) { return {job.priority, job.submitted, job.id}; }

class RankedJobs : public WhoNext {
 public:
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool offer(const ClusterView& view, SlotKind kind, Turn& turn) override;

 protected:
  /// Smaller is earlier. May depend on the job and on the capacity of the cluster.
  virtual double score(const ClusterView& view, const JobInfo& job) const = 0;

 private:
  using Rank = std::pair<double, JobOrder>;
  void place(const ClusterView& view, const JobInfo& job);
  void remove(JobId job);

  Resources capacity_;          // the scores are made for
  std::map<JobId, Rank> rank_;  // of jobs with pending tasks
  std::set<Rank> order_;
};

}  // namespace weft::sched

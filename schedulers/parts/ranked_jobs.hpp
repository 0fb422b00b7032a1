// Jobs by a number each has, smallest first: an order kept up to date as jobs change. For sjf, srtf and others with one score per
// job.
#pragma once

#include <map>
#include <utility>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

inline JobOrder order_of(const JobInfo& job) { return {job.priority, job.submitted, job.id}; }

/// The jobs with pending tasks in the order of ClusterView::runnable_jobs(), without looking each up.
class RunnableJobs {
 public:
  using Map = std::map<JobOrder, const JobInfo*>;
  void start(const ClusterView& view);
  /// Wants to be told everything.
  void on_event(const ClusterView& view, const Notice& notice);
  const Map& all() const { return jobs_; }

 private:
  void place(const JobInfo& job, bool ended);
  Map jobs_;
};

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
  std::map<Rank, const JobInfo*> order_;
  Rank served_{};  // last
};

}  // namespace weft::schedulers

// When jobs would end if users, and the jobs of each user, had shared the cluster all the time, kept up to date by notices.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedulers/config/weights.hpp"
#include "schedulers/parts/job_sizes.hpp"
#include "schedulers/parts/virtual_sharing.hpp"

namespace weft::schedulers {

/// A job's pool counts as its user where it names one.
class FairEnds {
 public:
  explicit FairEnds(Weights weights) : weights_(std::move(weights)) {}

  /// `before`: what it goes on from; null: nothing.
  void start(const ClusterView& view, const FairEnds* before);
  /// Needs every notice.
  void on_event(const ClusterView& view, const Notice& notice);
  /// Measures all jobs again where the capacity of the cluster has changed. True: it did.
  bool refresh(const ClusterView& view);

  /// The work that the cluster will do before the job ends there; not above 0: it would have ended by now. The job must be live.
  double until(JobId job) const { return end(job) - sharing_.clock(); }
  /// Whether it would have ended by now. Also asked of jobs that are not live: no.
  bool overdue(JobId job) const { return contains(job) && until(job) <= 0; }
  /// A number that grows with the time of that end.
  double end(JobId job) const { return sharing_.finish(job); }
  /// What end() has reached by now.
  double clock() const { return sharing_.clock(); }
  /// When the job must begin to have the whole cluster, as end(), so that it ends then all the same; whether that is now.
  double due_at(JobId job) const { return end(job) - size(job).left; }
  bool due(JobId job) const { return due_at(job) <= sharing_.clock(); }
  /// The least first: jobs that would have ended by now, of these the one with the least work that is not launched; then the least
  /// time to that end, times the part of the work that is not launched.
  double rank(JobId job) const;
  /// The live jobs by rank().
  std::vector<JobId> order(const ClusterView& view) const;
  const JobSize& size(JobId job) const { return jobs_.at(job).size; }
  bool contains(JobId job) const { return jobs_.contains(job); }
  /// Counts what changed the ends of several jobs.
  std::uint64_t changes() const { return sharing_.changes(); }

 private:
  struct Job {
    double uses = 0;  // its dominant share
    JobSize size;
  };

  void arrive(const ClusterView& view, const JobInfo& job);
  void change(const ClusterView& view, JobId job);
  void end_job(JobId job);

  Weights weights_;
  JobSizes sizes_;
  VirtualSharing sharing_;
  Time now_{0};
  double rate_ = 0;  // parts of the cluster that do work
  Resources capacity_;
  std::map<JobId, Job> jobs_;
};

}  // namespace weft::schedulers

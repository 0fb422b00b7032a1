// Processor sharing that is only computed: what each job would have had if users shared the cluster at all times, equally or by
// weight, and jobs within each user. The Fair Sojourn Protocol (E. Friedman and S. Henderson, "Fairness and efficiency in web
// servers", 2003) runs jobs in the order in which they end there.
//
// Work is a number in any one unit. The clock is the work that all jobs together have had: capacity that idles moves nobody ahead.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "base/ids.hpp"

namespace weft::schedulers {

class VirtualSharing {
 public:
  /// What a job has a right to.
  struct Claim {
    std::string group;  // its user or pool
    double group_weight = 1;
    double weight = 1;  // within the group
    int priority = 0;   // within the group those of the highest priority have all
  };

  /// A job of no work so far. One that is there already gets another claim, and keeps what it has had.
  void add(JobId job, Claim claim);
  /// The work of the job, all of it, is believed to be this: what it has had counts.
  void resize(JobId job, double work);
  /// The job has really ended. What it would still have had is taken from the others until it ends here, too.
  void leave(JobId job);
  /// The cluster has done so much work.
  void advance(double work);
  /// Forgets all jobs.
  void clear();

  /// The clock when the job ends here, as jobs share now, or has ended.
  double finish(JobId job) const { return jobs_.at(job).finish; }
  double clock() const { return clock_; }
  /// Counts what changed the ends of several jobs.
  std::uint64_t changes() const { return changes_; }

 private:
  struct Job {
    Claim claim;
    double work = 0, had = 0;
    double since = 0;   // the clock when `had` was computed
    double part = 0;    // of each unit of work
    double finish = 0;  // infinity only while it is computed
    bool over = true, left = false;
  };
  struct Level {
    double left = 0, weight = 0;  // of the active jobs of one priority
  };
  struct Group {
    double weight = 1, share = 0;
    std::map<int, Level, std::greater<>> levels;
  };

  void settle(Job& job) const;
  void share_out();
  void find_next();

  double clock_ = 0;
  double next_ = std::numeric_limits<double>::infinity();  // no job ends before this
  std::uint64_t changes_ = 0;
  std::map<JobId, Job> jobs_;
};

}  // namespace weft::schedulers

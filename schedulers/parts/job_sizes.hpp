// How much work jobs are, as far as it is known: from what has been measured of their tasks, else from the program or earlier runs,
// else from the tasks of other jobs that ended lately.
#pragma once

#include <array>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Seconds of the whole cluster.
struct JobSize {
  double all = 0;   // of all tasks of the job together, those that have ended, too
  double left = 0;  // of those that are not launched
};

class JobSizes {
 public:
  /// Learns from tasks that end.
  void on_event(const ClusterView& view, const Notice& notice);
  /// A task takes the part of the cluster that its dominant share is. O(stages of the job).
  JobSize of(const ClusterView& view, const JobInfo& job) const;

 private:
  struct Mean {
    double seconds = 1, count = 0;
  };

  std::array<Mean, 2> others_;  // of tasks that read files, and of those that read shuffles
};

}  // namespace weft::schedulers

// Which of several deadlines can be met.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::schedulers {

/// Of a job.
struct Goal {
  double seconds = 0;  // until its deadline
  double work = 0;     // that is left: seconds of one slot
};

/// The goals to give up (true) so that `slots` slots meet as many of the others as possible: in the order of the deadlines, each
/// time that the jobs so far have more work than the slots can do until then, the job with most work is left out (J. M. Moore, "An
/// n job, one machine sequencing algorithm for minimizing the number of late jobs", 1968; all slots together are the machine). Of
/// equal deadlines the first of `goals` counts as earlier; of jobs with equal work the last is left out. O(n log n).
std::vector<bool> goals_to_give_up(const std::vector<Goal>& goals, double slots);

}  // namespace weft::schedulers

// Which of several deadlines can be met.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::schedulers {

/// Of a job: how long it is until its deadline, and what it still has to do.
struct Goal {
  double seconds = 0;
  double work = 0;  // seconds of one slot
};

/// The goals to give up so that as many as possible of the others are met by `slots` slots: in the order of the deadlines, each
/// time that the jobs so far need more than there is until then, the one with most work is left out (J. M. Moore, "An n job, one
/// machine sequencing algorithm for minimizing the number of late jobs", 1968; all slots together are the machine). True: given up.
/// Of equal deadlines the first of `goals` counts as earlier, and of equal work the last goes. O(n log n).
std::vector<bool> goals_to_give_up(const std::vector<Goal>& goals, double slots);

}  // namespace weft::schedulers

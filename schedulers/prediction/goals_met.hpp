// Which of several deadlines can be met.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::schedulers {

/// Of a job.
struct Goal {
  double seconds = 0;  // until its deadline
  double work = 0;     // that is left: seconds of one slot
  double at_best = 0;  // seconds until the job would end with all slots
};

/// The goals to give up (true) so that `slots` slots meet as many of the others as possible: in the order of the deadlines, each
/// time that the jobs so far have more work than the slots can do until then, the job with most work is left out (J. M. Moore, "An
/// n job, one machine sequencing algorithm for minimizing the number of late jobs", 1968; all slots together are the machine). Of
/// equal deadlines the first of `goals` counts as earlier; of jobs with equal work the last is left out. O(n log n).
std::vector<bool> goals_to_give_up(const std::vector<Goal>& goals, double slots);

/// The goals at risk, of those that are not `given_up`: where the job must begin soon to meet its goal alone on all slots, or where
/// it and the jobs with nearer deadlines together have about as much work as the slots can do until then. Soon and about: work may
/// take longer by the part `margin`, and slots are free after `wait` seconds, when tasks of others end. Until then a goal needs no
/// slots before its turn: a job that gets just enough from the beginning keeps others waiting, and ends no earlier for it.
std::vector<bool> goals_at_risk(const std::vector<Goal>& goals, const std::vector<bool>& given_up, double slots, double margin,
                                double wait);

}  // namespace weft::schedulers

// The tasks that must run now even if all tasks run as late as possible: Algorithm 2 of the Reverse-Adaptive Scheduler (Polo's
// thesis, section 5.3.4.2), with the capacity that other work is expected to leave.
#pragma once

#include <span>
#include <vector>

#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// The capacity of the cluster over time, in pieces in which it does not change. It is the sum over all nodes: a task is taken to
/// fit where its part of the sum is left.
class CapacityAhead {
 public:
  /// From `from` on, with the capacity by `steps` (ascending, the first not later than `from`; the last one counts for ever).
  /// Between two of `times` or steps, the amounts that are taken are averaged.
  CapacityAhead(Time from, std::span<const CapacityStep> steps, std::vector<Time> times);

  /// Takes this much for all the time between.
  void occupy(Time from, Time to, const Resources& amounts);
  /// Takes capacity for `tasks` tasks of that length, as late as possible between the two times, and returns how many fitted. A
  /// task may run in pieces, at the edges of the capacity that other jobs take.
  double fit(Time from, Time to, const Resources& use, Time length, double tasks);
  /// True: between them less is left than any job's task needs (`least`).
  bool full(Time from, Time to, const Resources& least) const;
  /// What is left in the beginning.
  const Resources& at_first() const { return pieces_.front().left; }
  /// How many tasks could run at a time, in the mean.
  double mean_slots(Time from, Time to, const Resources& use) const;

 private:
  struct Piece {
    Time from{0};
    Resources left;
  };
  std::size_t at(Time time) const;
  Time end_of(std::size_t piece) const { return piece + 1 < pieces_.size() ? pieces_[piece + 1].from : Time::max(); }
  std::vector<Piece> pieces_;
};

struct ReverseJob {
  Time goal{0};
  double tasks = 0;  // that have not begun
  Time length{1};    // of a task
  Resources use;     // by a task
};
/// Of each job, the tasks that must begin before `next`, the end of the coming control cycle, so that all goals are met. `ahead`
/// does not contain the capacity that running tasks take. Tasks that do not fit the window between two goals go to the window
/// before, as in the paper; a job's own tasks come in whole rounds before its goal.
std::vector<double> reverse_fit(std::span<const ReverseJob> jobs, CapacityAhead& ahead, Time next);

}  // namespace weft::schedulers

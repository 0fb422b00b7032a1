// What must run now although everything is put off as long as it can be: Algorithm 2 of the Reverse-Adaptive Scheduler (Polo's
// thesis, section 5.3.4.2), on what other work is expected to leave of the cluster.
#pragma once

#include <span>
#include <vector>

#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// What the cluster has over time, in pieces in which it does not change. Amounts of all nodes together: a task is taken to fit
/// where its part of the sum is left.
class CapacityAhead {
 public:
  /// From `from` on, `steps` (ascending, the first not later than `from`) say what there is; the last one counts for ever. What
  /// happens between two of `times` or steps is the same.
  CapacityAhead(Time from, std::span<const CapacityStep> steps, std::vector<Time> times);

  /// Somebody takes this much all the time between.
  void occupy(Time from, Time to, const Resources& amounts);
  /// Takes room for so many tasks that last so long, as late as possible between the two times, and returns for how many there was
  /// room. A task may run in pieces: those at the edges of what other jobs take do.
  double fit(Time from, Time to, const Resources& use, Time length, double tasks);
  /// Whether nothing that every job needs is left between them.
  bool full(Time from, Time to, const Resources& least) const;
  /// What there is in the beginning.
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
  double tasks = 0;  // not begun
  Time length{1};    // of one
  Resources use;     // likewise
};
/// Of each job, the tasks that must begin before `next`, the end of the coming control cycle, for all goals to be met. All that
/// began already is to be in `ahead`. Where the windows between two goals are not enough the rest goes to the window before, as in
/// the paper; a job's own tasks come in whole rounds before its goal.
std::vector<double> reverse_fit(std::span<const ReverseJob> jobs, CapacityAhead& ahead, Time next);

}  // namespace weft::schedulers

// When jobs are expected to end, from what is left of each (work_left.hpp) and how slots are given away from now on.
//
// Work flows: a job with s slots does s seconds of work each second, a phase after the other, and the last tasks of a phase take
// half a task longer on average because they cannot be shared out. As jobs end the others get their slots. Where goals decide
// (Scheduler::goals_decide), each job has as many slots as it needs, the nearest goal first, and as much more as all others;
// elsewhere slots stay shared as they are, in proportion. A pure function of the view: a look at the running tasks of all jobs, and
// at most some hundred steps.
#pragma once

#include <map>
#include <optional>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// Of one job.
struct ExpectedEnd {
  std::optional<Time> end;  // nothing: it is not known how long some of its tasks take
  Time alone{0};            // if it had the whole cluster from now on; 0: not known
  double slots = 0;         // that it has, or is expected to get at once
  double needed = 0;        // at all times from now on, to meet its goal; 0: it has none
};

/// Of the running jobs. Those that have nothing planned at present end now, as far as is known.
std::map<JobId, ExpectedEnd> expected_ends(const ClusterView& view, bool goals_decide);

}  // namespace weft::schedulers

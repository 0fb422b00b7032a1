// When jobs are expected to end, from the work left of each (work_left.hpp) and the share of slots that it will get.
//
// Work is a fluid: a job with s slots does s seconds of work each second, one phase after the other. The last tasks of a phase take
// half a task longer on average, because they cannot be divided. When a job ends, the others get its slots. How slots are shared is
// the scheduler's answer (Scheduler::sharing): first come the slots that goals need, the nearest goal first, then the rest. A pure
// function of the view and that answer, which looks at the running tasks of all jobs and takes some hundred steps at most.
#pragma once

#include <map>
#include <optional>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Of one job.
struct ExpectedEnd {
  std::optional<Time> end;  // nothing: the duration of some of its tasks is not known
  Time alone{0};            // its end if it had the whole cluster from now on; 0: not known
  double slots = 0;         // that it has, or is expected to get at once
  double needed = 0;        // slots that it needs from now on to meet its goal; 0: it has no goal
};

/// Of the running jobs. A job that has no planned stages at present is taken to end now.
std::map<JobId, ExpectedEnd> expected_ends(const ClusterView& view, const Sharing& sharing);

}  // namespace weft::schedulers

// Carbyne (Grandl et al., OSDI 2016): altruistic scheduling of DAGs.
//
// Passes: 1. each job launches the tasks that must begin now so that it ends as early as its share (inter=…) allows; 2. jobs with
// the least remaining work use the rest (srtf); 3. then the tasks that pack best (packing). Both orders are options (leftover=…).
//
// mode=paper is the pseudo code: later passes use all free capacity, and a job may find that what it needs is lent; a share that
// is too small for a task is lent until its job must begin. mode=safe: plans are kept, and leftover capacity is lent only until its
// owner needs it (parts/altruism.hpp). mode=reference repeats the simulator of the authors (planning/job_plan.hpp,
// adjusted_shares() of parts/job_shares.hpp, amounts rounded to hundredths of a unit); with leftover=planned, its default, the
// shortest job launches the tasks that must begin now so that it ends as early as all leftover capacity allows, then the next job
// does. mode=bounded, the default: as mode=paper with loan=share, after a pass for jobs that must begin now to end when they would
// have ended if all users had shared fairly (parts/due_jobs.hpp).
//
// loan=task: a loan ends with the borrower's task, as in the pseudo code. loan=share: it ends when a job comes or ends
// (adjusted_shares()), as in the authors' simulator: jobs end earlier in the mean, and their shares are less equal.
//
// Deviates: the mean demand of DRF's closed form is over all tasks of a job unless mean=remaining, so that its share does not
// change while it runs; running tasks keep their capacity in the plan; the printed start, Rev + T - Dur, is read as T - Rev - Dur;
// a job whose tasks take far more or less time than believed delays nothing. With altruism=0 it is drf(form=closed, mean=all).
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_carbyne(Options& options, const Registry& registry);

}  // namespace weft::schedulers

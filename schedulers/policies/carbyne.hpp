// Carbyne (Grandl et al., OSDI 2016): altruistic scheduling of DAGs.
//
// Passes: 1. each job launches what must begin now for it to end as early as its share (inter=…) lets it; 2. the rest goes to jobs
// with the least remaining work (srtf); 3. then to whatever packs best (packing). Both orders are options (leftover=…).
//
// mode=faithful is the pseudo code: later passes give away all that is free now, so that no room idles, and a job may find lent
// what it needs; a share that holds no task is lent until its job must begin. mode=safe: a plan is kept once it was made, and what
// is left is given away only until its owner needs it (parts/altruism.hpp). mode=reference repeats the simulator of the authors
// (planning/job_plan.hpp, adjusted_shares() of parts/job_shares.hpp, amounts rounded to hundredths of a unit); it gives what is
// left (leftover=planned) to the shortest job, which launches what it must begin now to end as early as all of that would let it,
// then to the next.
//
// loan=task: what a task was lent is the lender's again when the task has ended, as the pseudo code has it. loan=share: it goes on
// being lent until a job comes or ends (adjusted_shares()), as in the authors' simulator: jobs end earlier in the mean, and what
// they have is less equal.
//
// Deviates: the mean demand of DRF's closed form is over all tasks of a job unless mean=remaining, so that its share stays while it
// runs; tasks that run keep their room in the plan; the printed start, Rev + T - Dur, is read as T - Rev - Dur; a job whose tasks
// take far more or less than was believed puts nothing off. With altruism=0 it is drf(form=closed, mean=all). Options:
// inter=drf|fair|capacity, pools=FILE or queues=FILE, mean=all|remaining, mode=faithful|safe|reference, loan=task|share,
// altruism=1, seed=1, intra=packing|critical-path|dagps, leftover=[srtf, packing], also fifo, drf, planned, stages=cpm|….
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_carbyne(Options& options, const Registry& registry);

}  // namespace weft::schedulers

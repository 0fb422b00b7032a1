// Carbyne (Grandl et al., OSDI 2016): altruistic scheduling of DAGs.
//
// Passes: 1. each job launches what must begin now for it to end as early as its share (inter=…) lets it; 2. the rest goes to jobs
// with the least remaining work (srtf); 3. then to whatever packs best (packing). Both orders are options (leftover=…).
//
// mode=safe: a plan is kept once it was made, and what is left is given away only until its owner needs it (parts/altruism.hpp).
// mode=faithful is the pseudo code: later passes give away all that is free now, so that no room idles, and a job may find lent
// what it needs. Its leftover=planned is what the authors' simulator has in place of srtf and packing: everything to the shortest
// job, of which what it must begin now to end as early as that lets it begins, and so on. carbyne(mode=faithful, leftover=planned,
// digits=2) is that simulator's policy.
//
// Deviates: the mean demand of DRF's closed form is over all tasks of a job unless mean=remaining, so that its share stays while it
// runs; the printed start, Rev + T - Dur, is read as T - Rev - Dur. With altruism=0 it is drf(form=closed) with these passes.
// Options: inter=drf|fair|capacity, pools=FILE or queues=FILE, mean=all|remaining, mode=safe|faithful, altruism=1, seed=1,
// intra=packing|critical-path|dagps, leftover=[srtf, packing], digits (faithful), stages=cpm|….
#pragma once

#include "schedulers/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_carbyne(Options& options, const Registry& registry);

}  // namespace weft::schedulers

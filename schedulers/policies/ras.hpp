// Resource-aware Adaptive Scheduler (J. Polo et al., Resource-Aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011;
// Polo's thesis, chapter 4): job slots instead of a configured number of slots. In control cycles jobs get slots on nodes by their
// utility, as many as what their tasks take of processors, disk and memory fits there (job_slots.hpp). Goals are soft; a job
// without one shares what the others leave.
//
// Options: cycle, react, node, measured, overcommit.
//
// Deviates as job_slots.hpp and slot_matrix.hpp say; and what slots a goal needs counts all that is left of a job, not its maps
// alone (work_left.hpp). overcommit=0 is the paper's rule that nothing may be overcommitted.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_ras(Options& options, const Registry& registry);

class SlotGoals;
/// Slots that goals need, by the work left and the time left.
std::unique_ptr<SlotGoals> slot_goals();

}  // namespace weft::schedulers

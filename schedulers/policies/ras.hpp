// Resource-aware Adaptive Scheduler (J. Polo et al., Resource-Aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011;
// Polo's thesis, chapter 4): job slots instead of a configured number of slots. In control cycles jobs get slots on nodes by their
// utility, as many as fit by the use of processors, disk and memory (job_slots.hpp). Goals are soft; jobs without one share the
// slots that the others leave.
//
// Deviates as in job_slots.hpp and slot_matrix.hpp. The slots that a goal needs are for all work left of a job, not for its maps
// alone (work_left.hpp). overcommit=0 is the paper's rule that nothing may be overcommitted.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_ras(Options& options, const Registry& registry);

class SlotGoals;
/// Needs of jobs with goals, by the work left and the time left.
std::unique_ptr<SlotGoals> slot_goals();

}  // namespace weft::schedulers

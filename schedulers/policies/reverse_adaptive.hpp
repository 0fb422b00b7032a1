// Reverse-Adaptive: completion-time goals on machines that others use, too (J. Polo et al., Adaptive MapReduce Scheduling in Shared
// Environments, CCGRID 2014; Polo's thesis, section 5.3). What other work will leave of each node is known as a forecast. Counted
// back from the goals, the last first, tasks are put off as long as what is left then has room for them; what has no room must run
// now. Jobs get slots by a utility that puts this before the pace that their goals ask for, and that before anything else
// (job_slots.hpp, reverse_fit.hpp, utility.hpp).
//
// While no node expects a change, it is `adaptive`, as the paper has it, or the scheduler that without_forecast names;
// without_forecast=backwards plans in that way all the same.
//
// Options: those of ras; preempt: whether a node that is given less than it uses loses tasks (capacity_preemption.hpp);
// without_forecast=adaptive; late=last: jobs whose goals cannot be met any more get what the others leave when they keep their
// pace, and where not all goals can be met those with most work give theirs up; first: they go before all others, as in the paper,
// where what is lost already makes others late.
//
// Deviates: with preempt=true a node gets only tasks that end before it is expected to be given less, as far as half an hour ahead.
// Where a forecast is wrong at present, what there is counts until the next change that it expects.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_reverse_adaptive(Options& options, const Registry& registry);

}  // namespace weft::schedulers

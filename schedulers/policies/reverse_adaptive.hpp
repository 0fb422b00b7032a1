// Reverse-Adaptive: completion-time goals on machines that others use, too (J. Polo et al., Adaptive MapReduce Scheduling in Shared
// Environments, CCGRID 2014; Polo's thesis, section 5.3). A forecast says what other work will leave of each node. Starting from
// the last deadline, each task is scheduled as late as the remaining capacity allows; a task that does not fit later must run now.
// Jobs get slots by a utility that puts such tasks first, then the pace that goals need, then all other tasks (job_slots.hpp,
// reverse_fit.hpp, utility.hpp).
//
// While no forecast contains a change, it is `adaptive`, as in the paper, or the scheduler that without_forecast names;
// without_forecast=backwards plans backwards all the same.
//
// preempt: a node whose capacity becomes less than its use loses tasks (capacity_preemption.hpp). late=last: jobs that cannot meet
// their goals get the slots that the others do not need to keep their pace, and where not all goals can be met, jobs with most work
// give theirs up. late=first: they go before all others, as in the paper, so that jobs that cannot be saved make others late.
//
// Deviates: with preempt=true a node gets only tasks that end before its capacity is expected to become less, looking half an hour
// ahead. If a forecast is wrong now, it is ignored until the next step that it predicts.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_reverse_adaptive(Options& options, const Registry& registry);

}  // namespace weft::schedulers

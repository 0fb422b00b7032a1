// The capacity scheduler of Hadoop MR1: queues with a part of the cluster each, any depth (queues.hpp has
// the file).
//
// Room goes to the queue that has the least of its capacity; of its jobs to the first, in order of submission (or priority), whose
// user is below the user limit: max(c / active users, c * user_limit_percent), c being the larger of the queue's capacity and one
// more than what it has, and never more than user_limit_factor times the capacity. Queues borrow what others do not use, up to
// max_capacity; what is lent comes back only when the borrowed tasks end: nothing is ever killed.
//
// A queue has as many jobs initialised, and so served, as its capacity's part of max_system_jobs, and of one user
// user_limit_percent of these; the others wait in the order of the queue until one of them has no tasks left. As in Hadoop, but for
// jobs that wait for their driver: they leave their place.
//
// Deviates: the hierarchy is that of later versions; a queue or user that has nothing may always start one task, however small its
// capacity. Shares are counted in cores, or per slot type where nodes have typed slots.
// Options: queues=FILE (none: one queue for all), max_system_jobs=3000, stages=fifo|bfs|cpm.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_capacity(Options& options, const Registry& registry);

}  // namespace weft::schedulers

// The capacity scheduler of Hadoop MR1: queues of any depth, each with a part of the cluster (queues.hpp has the file).
//
// The queue that uses the smallest part of its capacity is next; of its jobs the first, by submission (or priority), whose user is
// below the user limit. The limit is max(c / active users, c * user_limit_percent), where c is the larger of the queue's capacity
// and its use plus one task, and never more than user_limit_factor times the capacity. Queues borrow what others do not use, up to
// max_capacity, and give it back only when the borrowing tasks end: nothing is ever killed.
//
// Only initialised jobs launch tasks: in each queue its capacity's part of max_system_jobs, and of one user user_limit_percent of
// these. The others wait in the order of the queue until an initialised job has no tasks left. As in Hadoop, except that a job that
// waits for its driver is not initialised.
//
// Deviates: the hierarchy is that of later versions; a queue or user without tasks may always launch one, however small its
// capacity. Shares are counted in cores, or per slot type where nodes have typed slots.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_capacity(Options& options, const Registry& registry);

}  // namespace weft::schedulers

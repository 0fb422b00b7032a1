// FIFO, the Hadoop default: jobs by priority, then submit time, then id; of a job the task nearest to its input, else any. Greedy,
// never preempts; a job that fills the cluster blocks all later ones.
//
// Deviates: a node takes as many remote tasks and readers of shuffles per call as fit, because the master calls when capacity
// becomes free and not once per heartbeat. `remote_per_heartbeat=1, reduces_per_heartbeat=1` is Hadoop's way (a slot may then idle
// until the node's next heartbeat).
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_fifo(Options& options, const Registry& registry);

/// Jobs by priority, then submit time, then id.
std::unique_ptr<OrderingPolicy> fifo_order();

}  // namespace weft::schedulers

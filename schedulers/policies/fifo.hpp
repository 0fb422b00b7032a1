// FIFO, Hadoop's default: jobs by priority (larger first), submit time, id; within a job the nearest task, never waiting.
//
// Two things of Hadoop 1 are left out, because they are consequences of its heartbeats and typed slots: slots are untyped, so maps
// and reduces compete only through the order of their stages, and a node may be given several reduces at once (Hadoop: one per
// heartbeat). A stage starts when its inputs are complete (no slow start).
#pragma once

#include <memory>

#include "schedulers/scheduler.hpp"

namespace weft::sched {

/// No options.
Result<std::unique_ptr<Scheduler>> make_fifo(Options& options);

}  // namespace weft::sched

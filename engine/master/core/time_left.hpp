// How long a running job and its stages still take, for statuses. Nothing is decided by it.
#pragma once

#include "engine/master/core/records.hpp"

namespace weft::master {

/// Fills in `left` of the job and of those of its stages that the status has, where it is known: when the last task has ended if
/// the job goes on at the parallelism that it had so far. A stage that waits for others counts from its beginning. A task is taken
/// to need as long as the mean of its stage, times its part of the bytes that they read, as far as these are known: of files, and
/// of shuffles that are complete. Looks at each task of the job that has not ended, and of stages that run at each task.
void add_time_left(const schedulers::ClusterView& view, const JobRecord& job, JobStatus& status);

}  // namespace weft::master

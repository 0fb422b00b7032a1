// What the core says of its jobs: how each stands, and why tasks of it do not run. Pure functions of the records and the view.
#pragma once

#include "engine/master/core/context.hpp"
#include "engine/master/core/round_eviction.hpp"

namespace weft::master {

/// Without `with_stages`, the job's own figures only.
JobStatus status_of(const schedulers::ClusterView& view, const RoundEviction& rounds, const JobRecord& job, bool with_stages);
/// Fills in how large the shuffles of incomplete stages will be. Looks at every known size of a block.
void add_predictions(const JobRecord& job, JobStatus& status);
/// From what was recorded (holds, refusals, avoidances, exclusions), and from what the cluster has now.
JobExplanation explain_job(const CoreContext& context, const JobRecord& job);

}  // namespace weft::master

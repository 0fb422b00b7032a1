// Shortest jobs first (the baselines of Carbyne, OSDI 2016): the first job launches all that it can, then the next, and so on. No
// preemption. Of a job, the stages on the longest path go first.
//
// sjf: by the length of the job's whole critical path (size=path). srtf: by remaining work (size=work), the sum over unfinished
// stages of |demand| * tasks not launched yet * duration, where |demand| is the Euclidean norm of the demand as part of the
// cluster's capacity. Carbyne's simulator orders "SJF" by srtf's score; that is sjf(size=work).
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_sjf(Options& options, const Registry& registry);
Result<Composition> make_srtf(Options& options, const Registry& registry);

/// The score of srtf.
double remaining_work(const ClusterView& view, const JobInfo& job);
/// Jobs by remaining_work(), the smallest first.
std::unique_ptr<OrderingPolicy> least_work_order();

}  // namespace weft::schedulers

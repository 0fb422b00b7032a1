// Shortest jobs first (the baselines of Carbyne, OSDI 2016): everything to the first job, what it cannot
// use to the next, and so on. No preemption. Of a job the stages on the longest path first.
//
// sjf: by the length of the job's critical path, all of it. srtf: by remaining work, the sum over unfinished stages of
// |demand| * tasks still to be launched * duration, where |demand| is the Euclidean norm of the demand as part of the cluster's
// capacity. Options of both: size=path (the whole critical path), size=remaining_path, size=work (srtf's), stages=fifo|bfs|cpm.
// Carbyne's simulator orders "SJF" by srtf's score; that is sjf(size=work).
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_sjf(Options& options, const Registry& registry);
Result<Composition> make_srtf(Options& options, const Registry& registry);

/// srtf's score.
double remaining_work(const ClusterView& view, const JobInfo& job);
/// Jobs by it, smallest first.
std::unique_ptr<OrderingPolicy> least_work_order();

}  // namespace weft::schedulers

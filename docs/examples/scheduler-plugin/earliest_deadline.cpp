// A scheduler made of parts: the order of jobs is its own, the rest weft's. The job with the earliest deadline goes first.
#include <chrono>
#include <memory>

#include <weft/schedulers/parts/ranked_jobs.hpp>
#include <weft/schedulers/parts/stage_orders.hpp>
#include <weft/schedulers/plugin.hpp>

namespace {

using namespace weft::schedulers;

class EarliestDeadline final : public RankedJobs {
  double score(const ClusterView&, const JobInfo& job) const override {
    return job.deadline ? std::chrono::duration<double>(*job.deadline).count() : 1e300;
  }
};

weft::Result<Composition> make_earliest_deadline(Options& options, const Registry&) {
  Composition parts;
  parts.jobs = std::make_unique<EarliestDeadline>();
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  return parts;
}

}  // namespace

extern "C" PluginInterface weft_scheduler_plugin(PluginInterface host, Registry* registry) {
  return plugin_entry(host, registry, [](Registry& known) {
    return known.add("earliest-deadline", "the job with the earliest deadline first; stages=fifo|bfs|cpm", make_earliest_deadline);
  });
}

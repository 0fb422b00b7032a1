#include "schedulers/policies/fifo.hpp"

#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

class FifoOrder final : public RankedJobs {
  double score(const ClusterView&, const JobInfo&) const override { return 0; }
};

}  // namespace

std::unique_ptr<OrderingPolicy> fifo_order() { return std::make_unique<FifoOrder>(); }

Result<Composition> make_fifo(Options& options, const Registry&) {
  Composition parts;
  parts.jobs = fifo_order();
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  WEFT_ASSIGN(const auto remote, options.whole("remote_per_heartbeat", 0));
  WEFT_ASSIGN(const auto reduces, options.whole("reduces_per_heartbeat", 0));
  parts.remote_per_call = static_cast<std::uint32_t>(std::min<std::uint64_t>(remote, UINT32_MAX));
  parts.reduces_per_call = static_cast<std::uint32_t>(std::min<std::uint64_t>(reduces, UINT32_MAX));
  WEFT_ASSIGN(parts.slow_start, options.number("slow_start", 1, 0, 1));
  return parts;
}

}  // namespace weft::schedulers

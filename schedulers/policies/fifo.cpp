#include "schedulers/policies/fifo.hpp"

#include "schedulers/policies/stage_orders.hpp"

namespace weft::sched {

namespace {

class FifoOrder final : public WhoNext {
 public:
  bool offer(const ClusterView& view, SlotKind, Turn& turn) override {
    for (const JobOrder& next : view.runnable_jobs()) {
      if (turn.serve(*view.job(next.id))) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<WhoNext> fifo_order() { return std::make_unique<FifoOrder>(); }

Result<Composition> make_fifo(Options& options, const Registry&) {
  Composition parts;
  parts.who = fifo_order();
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  WEFT_ASSIGN(const auto remote, options.whole("remote_per_heartbeat", 0));
  WEFT_ASSIGN(const auto reduces, options.whole("reduces_per_heartbeat", 0));
  parts.remote_per_call = static_cast<std::uint32_t>(std::min<std::uint64_t>(remote, UINT32_MAX));
  parts.reduces_per_call = static_cast<std::uint32_t>(std::min<std::uint64_t>(reduces, UINT32_MAX));
  return parts;
}

}  // namespace weft::sched

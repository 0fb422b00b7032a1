#include "schedulers/policies/adaptive.hpp"

#include <map>
#include <memory>
#include <utility>

#include "schedulers/parts/goal_order.hpp"
#include "schedulers/parts/measured_wait.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

constexpr Time kOfferAgain = std::chrono::seconds(1);

/// Data affinity (section 3.4.2): a job with as many slots as it needs skips `delays` nodes for each task that would be far from
/// its input.
class WaitsWhileAhead final : public LocalityWait {
 public:
  WaitsWhileAhead(const GoalOrder& order, std::uint64_t delays) : order_(order), delays_(delays) {}

  Result<void> start(const ClusterView&, Part* before) override {
    if (const auto* old = dynamic_cast<const WaitsWhileAhead*>(before)) skipped_ = old->skipped_;
    return {};
  }
  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind == Notice::Kind::job_ended) skipped_.erase(notice.job);
  }
  Locality allowed(const ClusterView& view, const JobInfo& job) override {
    return !order_.ahead(view, job) || of(job).offers >= delays_ ? Locality::any : Locality::node;
  }
  bool skipped(const ClusterView& view, const JobInfo& job, std::size_t nodes, Decisions& decisions) override {
    if (view.heartbeat() == Time(0)) decisions.wake_at(view.now() + kOfferAgain);  // no heartbeat offers it nodes again
    std::uint64_t& offers = of(job).offers;
    const bool more = nodes > delays_ - offers;
    offers = more ? delays_ : offers + nodes;
    return more;
  }
  void launched(const ClusterView&, const JobInfo&, Locality) override {}

 private:
  struct Skipped {
    std::pair<StageId, std::uint32_t> task;  // the next one where none is near
    std::uint64_t offers = 0;
  };
  /// Of the task of the job that would run next on a far node.
  Skipped& of(const JobInfo& job) {
    Skipped& skipped = skipped_[job.id];
    for (const StageId id : job.runnable) {
      const PendingTasks& pending = job.stages.at(id).pending;
      if (!pending.placed() || !pending.unconstrained().first()) continue;
      const std::pair next(id, *pending.unconstrained().first());
      if (skipped.task != next) skipped = {next, 0};
      break;
    }
    return skipped;
  }

  const GoalOrder& order_;
  std::uint64_t delays_;
  std::map<JobId, Skipped> skipped_;
};

}  // namespace

Result<Composition> make_adaptive(Options& options, const Registry&) {
  GoalOrderOptions goals;
  WEFT_ASSIGN(goals.attribute, options.text("attribute", goals.attribute));
  if (goals.attribute == "none") goals.attribute.clear();
  WEFT_ASSIGN(goals.rules.threshold, options.number("speedup", goals.rules.threshold, 1, 1e6));
  WEFT_ASSIGN(goals.rules.reserve, options.number("reserve", goals.rules.reserve, 0, 100));
  WEFT_ASSIGN(goals.late_first, options.choice<bool>("late", {{"first", true}, {"last", false}}, "last"));
  WEFT_ASSIGN(goals.by_need, options.choice<bool>("order", {{"need", true}, {"deadline", false}}, "deadline"));
  WEFT_ASSIGN(goals.rules.margin, options.number("margin", goals.by_need ? 0 : 0.1, 0, 100));
  WEFT_ASSIGN(goals.by_fair_ends,
              options.choice<bool>("rest", {{"ends", true}, {"even", false}}, goals.by_need || goals.late_first ? "even" : "ends"));
  WEFT_ASSIGN(const std::uint64_t delays, options.whole("delays", 0));
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  if (goals.by_fair_ends) {  // as fsp has them
    parts.locality_wait = std::make_unique<MeasuredWait>();
    parts.round_order = RoundOrder::by_rounds_left;
  }
  auto order = std::make_unique<GoalOrder>(std::move(goals));
  if (delays > 0) parts.locality_wait = std::make_unique<WaitsWhileAhead>(*order, delays);
  parts.urgency = order.get();
  parts.jobs = std::move(order);
  return parts;
}

}  // namespace weft::schedulers

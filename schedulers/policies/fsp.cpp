#include "schedulers/policies/fsp.hpp"

#include <memory>
#include <string>
#include <utility>

#include "schedulers/config/weights.hpp"
#include "schedulers/parts/fair_ends.hpp"
#include "schedulers/parts/measured_wait.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

/// What decides between jobs that would not have ended yet if all shared fairly.
enum class Between {
  work,  // the work that is not launched, less the more of the job fair sharing would have done by now
  ends,  // when they would end: as published
};

class ByFairEnds final : public OrderingPolicy {
 public:
  ByFairEnds(Weights weights, Between between) : ends_(std::move(weights)), between_(between) {}

  Result<void> start(const ClusterView& view, Part* before) override {
    const auto* old = dynamic_cast<const ByFairEnds*>(before);
    ends_.start(view, old != nullptr ? &old->ends_ : nullptr);
    place_all(view);
    return {};
  }

  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    ends_.on_event(view, notice);
    if (notice.kind == Kind::job_arrived || notice.kind == Kind::job_changed) place(*view.job(notice.job));
    if (notice.kind == Kind::job_ended) order_.remove(notice.job);
  }

  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    const bool measured = ends_.refresh(view);
    const bool moved = measured || placed_at_ != ends_.changes();  // perhaps to before the job that was offered last
    if (moved) place_all(view);
    return order_.offer(moved || launcher.starts_over(), [&launcher](const JobInfo* job) { return launcher.launch(*job); });
  }

  Sharing sharing(const ClusterView& view) const override { return {.order = ends_.order(view)}; }
  const FairEnds* fair_ends() const override { return between_ == Between::work ? &ends_ : nullptr; }

 private:
  using Rank = std::pair<double, JobOrder>;

  void place(const JobInfo& job) {
    if (!ends_.contains(job.id)) return;
    if (job.pending == 0) return order_.remove(job.id);
    order_.place(job.id, {rank_of(job.id), order_of(job)}, &job);
  }

  double rank_of(JobId id) const { return between_ == Between::ends ? ends_.end(id) : ends_.rank(id); }

  void place_all(const ClusterView& view) {
    placed_at_ = ends_.changes();
    for (const auto& [id, job] : view.jobs()) place(job);
  }

  FairEnds ends_;
  Between between_;
  std::uint64_t placed_at_ = 0;
  RankedSet<JobId, Rank, const JobInfo*> order_;  // jobs with pending tasks
};

}  // namespace

Result<Composition> make_fsp(Options& options, const Registry&) {
  Weights weights;
  WEFT_ASSIGN(const auto file, options.file("pools"));
  if (file) {
    WEFT_ASSIGN(weights, Weights::of_pools(*file));
  }
  WEFT_ASSIGN(const Between between, options.choice<Between>("mode", {{"work", Between::work}, {"paper", Between::ends}}, "work"));
  WEFT_ASSIGN(const bool waits, options.choice<bool>("wait", {{"measured", true}, {"none", false}}, "measured"));
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  if (waits) parts.locality_wait = std::make_unique<MeasuredWait>();
  parts.jobs = std::make_unique<ByFairEnds>(std::move(weights), between);
  parts.round_order = RoundOrder::by_rounds_left;
  return parts;
}

}  // namespace weft::schedulers

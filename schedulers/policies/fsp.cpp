#include "schedulers/policies/fsp.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "schedulers/config/weights.hpp"
#include "schedulers/parts/job_sizes.hpp"
#include "schedulers/parts/measured_wait.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/parts/virtual_sharing.hpp"

namespace weft::schedulers {

namespace {

/// What decides between jobs that would not have ended yet if all shared fairly.
enum class Between {
  work,  // the work that is not launched, less the more of the job fair sharing would have done by now
  ends,  // when they would end: as published
};

class FairEnds final : public OrderingPolicy {
 public:
  FairEnds(Weights weights, Between between) : weights_(std::move(weights)), between_(between) {}

  Result<void> start(const ClusterView& view, Part* before) override {
    if (const auto* old = dynamic_cast<const FairEnds*>(before)) {
      sizes_ = old->sizes_;
      sharing_ = old->sharing_;
    }
    now_ = view.now();
    capacity_ = view.capacity();
    for (const auto& [id, job] : view.jobs()) arrive(view, job);
    return {};
  }

  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    sharing_.advance(rate_ * in_seconds(view.now() - now_));
    now_ = view.now();
    sizes_.on_event(view, notice);
    if (notice.kind == Kind::job_arrived) arrive(view, *view.job(notice.job));
    if (notice.kind == Kind::job_ended) end(notice.job);
    if (notice.kind == Kind::job_changed) change(view, notice.job);
  }

  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    if (view.capacity() != capacity_) measure_all(view);
    const bool moved = placed_at_ != sharing_.changes();  // perhaps to before the job that was offered last
    if (moved) place_all(view);
    return order_.offer(moved || launcher.starts_over(), [&launcher](const JobInfo* job) { return launcher.launch(*job); });
  }

 private:
  using Rank = std::pair<double, JobOrder>;
  struct Job {
    double uses = 0;  // its dominant share
    JobSize size;
  };

  void arrive(const ClusterView& view, const JobInfo& job) {
    const std::string& group = job.pool.empty() ? job.user : job.pool;
    sharing_.add(job.id, {group, weights_.of(group), job.hints.weight, job.priority});
    jobs_[job.id] = {};
    change(view, job.id);
  }

  void end(JobId id) {
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return;
    rate_ -= job->second.uses;
    jobs_.erase(job);
    order_.remove(id);
    sharing_.leave(id);
    if (!jobs_.empty()) return;
    rate_ = 0;
    sharing_.clear();
  }

  void change(const ClusterView& view, JobId id) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    const JobInfo& info = *view.job(id);
    Job& job = found->second;
    rate_ -= job.uses;
    job.uses = dominant_share(info.used, view.capacity());
    rate_ += job.uses;
    job.size = sizes_.of(view, info);
    sharing_.resize(id, job.size.all);
    place(info, job);
  }

  void place(const JobInfo& info, const Job& job) {
    if (info.pending == 0) return order_.remove(info.id);
    order_.place(info.id, {rank_of(info.id, job), order_of(info)}, &info);
  }

  /// Jobs that would have ended by now come first: those before 0.
  double rank_of(JobId id, const Job& job) const {
    const double ends = sharing_.finish(id);
    if (between_ == Between::ends) return ends;
    const double until = ends - sharing_.clock();
    if (until <= 0) return -1 / (job.size.left + kLeast);
    return until * (job.size.left + kLeast) / (job.size.all + kLeast);
  }

  void place_all(const ClusterView& view) {
    placed_at_ = sharing_.changes();
    for (const auto& [id, job] : jobs_) place(*view.job(id), job);
  }

  void measure_all(const ClusterView& view) {
    capacity_ = view.capacity();
    for (auto& [id, job] : jobs_) change(view, id);
  }

  static constexpr double kLeast = 1e-9;  // of work: no job has none

  Weights weights_;
  Between between_;
  JobSizes sizes_;
  VirtualSharing sharing_;
  Time now_{0};
  double rate_ = 0;  // parts of the cluster that do work
  Resources capacity_;
  std::uint64_t placed_at_ = 0;
  std::map<JobId, Job> jobs_;
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
  parts.jobs = std::make_unique<FairEnds>(std::move(weights), between);
  parts.round_order = RoundOrder::by_rounds_left;
  return parts;
}

}  // namespace weft::schedulers

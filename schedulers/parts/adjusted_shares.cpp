#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/ranked_set.hpp"

namespace weft::schedulers {

namespace {

using Amounts = std::array<double, kResourceKinds.size()>;

/// Which jobs are below their shares is kept as jobs change, so that a call costs no more than the jobs whose shares it changes.
class AdjustedShares final : public JobShares {
 public:
  AdjustedShares(std::unique_ptr<JobShares> inner, Digits digits) : inner_(std::move(inner)), digits_(digits) {}

  Result<void> start(const ClusterView& view, Part*) override {
    restore_ = true;
    return inner_->start(view, nullptr);
  }
  Result<void> admit(const ClusterView& view, const JobInfo& job) const override { return inner_->admit(view, job); }
  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    inner_->on_event(view, notice);
    if (notice.kind == Kind::job_arrived || notice.kind == Kind::stage_added) restore_ = true;
    if (notice.kind == Kind::job_changed) compare(*view.job(notice.job));
    if (notice.kind == Kind::job_ended) {
      below_.remove(notice.job);
      shares_.erase(notice.job);
    }
    if (notice.kind == Kind::task_finished) {
      const JobOrder order{0, view.job(notice.job)->submitted, notice.job};
      if (!last_ || *last_ < order) last_ = order;
    }
  }

  ShareChanges refresh(const ClusterView& view) override {
    (void)inner_->refresh(view);
    if (std::exchange(capacity_, view.capacity()) != view.capacity()) {
      restore_ = true;
      kinds_.clear();
      for (const std::size_t i : kOrderOfSums) {
        if (capacity_.*kResourceKinds[i].amount > 0) kinds_.push_back(i);
      }
    }
    const JobInfo* last = last_ ? view.job(last_->id) : nullptr;
    const bool ended = last_ && (last == nullptr || std::all_of(last->stages.begin(), last->stages.end(),
                                                                [](const auto& stage) { return stage.second.complete(); }));
    last_.reset();
    ShareChanges changes;
    changes.all = std::exchange(restore_, false) || ended;
    if (changes.all) restore(view);
    adjust(view, changes.jobs);
    return changes;
  }

 private:
  struct Below {
    const JobInfo* job;
    Amounts lacks;
  };

  void restore(const ClusterView& view) {
    shares_.clear();
    below_ = {};
    for (const auto& [id, job] : view.jobs()) {
      const Resources* share = inner_->share(id);
      if (share == nullptr) continue;
      shares_.emplace(id, *share);
      compare(job);
    }
  }

  /// Notes by how much the job is below its share.
  void compare(const JobInfo& job) {
    const auto found = shares_.find(job.id);
    if (found == shares_.end()) return;
    const Resources& share = found->second;
    Below one{&job, {}};
    double sum = 0;
    bool lacks = false;
    for (const std::size_t i : kinds_) {
      const double used = rounded(job.used.*kResourceKinds[i].amount, digits_);
      one.lacks[i] = rounded(share.*kResourceKinds[i].amount - used, digits_);
      sum += one.lacks[i];
      lacks = lacks || used < share.*kResourceKinds[i].amount;
    }
    below_.remove(job.id);
    if (lacks) below_.place(job.id, {-sum, job.id}, one);
  }

  /// Goes through the jobs, those furthest below their shares first. Where the free capacity is less than a job lacks, the free
  /// capacity is its share from then on. Adds the jobs whose shares changed.
  void adjust(const ClusterView& view, std::vector<JobId>& changed) {
    std::vector<const JobInfo*> given_less;
    Amounts free{};
    for (const std::size_t i : kinds_) {
      const auto& kind = kResourceKinds[i];
      free[i] = rounded(view.capacity().*kind.amount - rounded(view.used().*kind.amount, digits_), digits_);
    }
    below_.offer(true, [&](const Below& one) {
      if (std::ranges::none_of(kinds_, [&](std::size_t i) { return free[i] > 0; })) return true;
      if (take(one, free)) given_less.push_back(one.job);
      return false;
    });
    for (const JobInfo* job : given_less) {
      compare(*job);
      changed.push_back(job->id);
    }
    std::ranges::sort(changed);
  }

  /// Takes what the job lacks, or all that is left of it. True: that is its share from now on, and another than before.
  bool take(const Below& one, Amounts& free) {
    if (std::ranges::all_of(kinds_, [&](std::size_t i) { return free[i] >= one.lacks[i]; })) {
      for (const std::size_t i : kinds_) free[i] = rounded(std::max(free[i] - one.lacks[i], 0.0), digits_);
      return false;
    }
    Resources& share = shares_.at(one.job->id);
    bool changed = false;
    for (const std::size_t i : kinds_) {
      const double given = std::min(free[i], one.lacks[i]);
      double& amount = share.*kResourceKinds[i].amount;
      changed = changed || amount != given;
      amount = given;
      free[i] = rounded(std::max(free[i] - given, 0.0), digits_);
    }
    return changed;
  }

  std::unique_ptr<JobShares> inner_;
  Digits digits_;
  Resources capacity_;
  std::vector<std::size_t> kinds_;                           // that it accounts for, in the order of sums
  RankedSet<JobId, std::pair<double, JobId>, Below> below_;  // by how much they lack, summed over resources: the most first
  bool restore_ = true;                                      // a job has come: the shares become the inner ones again
  std::optional<JobOrder> last_{};  // the last job, by submission, with a task that ended: its end does the same
};

}  // namespace

std::unique_ptr<JobShares> adjusted_shares(std::unique_ptr<JobShares> inner, Digits digits) {
  return std::make_unique<AdjustedShares>(std::move(inner), digits);
}

}  // namespace weft::schedulers

#include <algorithm>
#include <array>
#include <utility>

#include "schedulers/parts/job_shares.hpp"

namespace weft::schedulers {

namespace {

using Amounts = std::array<double, kResourceKinds.size()>;

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
    if (notice.kind == Kind::job_ended) shares_.erase(notice.job);
    if (notice.kind == Kind::task_finished) {
      const JobOrder order{0, view.job(notice.job)->submitted, notice.job};
      if (!last_ || *last_ < order) last_ = order;
    }
  }

  bool refresh(const ClusterView& view) override {
    inner_->refresh(view);
    if (std::exchange(capacity_, view.capacity()) != view.capacity()) restore_ = true;
    const JobInfo* last = last_ ? view.job(last_->id) : nullptr;
    const bool ended = last_ && (last == nullptr || std::all_of(last->stages.begin(), last->stages.end(),
                                                                [](const auto& stage) { return stage.second.complete(); }));
    last_.reset();
    const bool restored = std::exchange(restore_, false) || ended;
    if (restored) {
      shares_.clear();
      for (const auto& [id, job] : view.jobs()) {
        if (const Resources* share = inner_->share(id)) shares_.emplace(id, *share);
      }
    }
    return adjust(view) || restored;
  }

 private:
  struct Below {
    Resources* share;
    Amounts lacks;
    double sum = 0;
  };

  /// Goes through the jobs, those furthest below their shares first. Where the free capacity is less than a job lacks, the free
  /// capacity is its share from then on. True: some share changed.
  bool adjust(const ClusterView& view) {
    std::vector<Below> below;
    for (auto& [id, share] : shares_) {
      const JobInfo* job = view.job(id);
      if (job == nullptr) continue;
      Below& one = below.emplace_back(Below{&share, {}, 0});
      bool lacks = false;
      for (const std::size_t i : kOrderOfSums) {
        const double used = rounded(job->used.*kResourceKinds[i].amount, digits_);
        one.lacks[i] = rounded(share.*kResourceKinds[i].amount - used, digits_);
        one.sum += one.lacks[i];
        lacks = lacks || used < share.*kResourceKinds[i].amount;
      }
      if (!lacks) below.pop_back();
    }
    std::stable_sort(below.begin(), below.end(), [](const Below& a, const Below& b) { return a.sum > b.sum; });
    bool changed = false;
    Amounts free{};
    for (std::size_t i = 0; i < free.size(); ++i) {
      const auto& kind = kResourceKinds[i];
      free[i] = rounded(view.capacity().*kind.amount - rounded(view.used().*kind.amount, digits_), digits_);
    }
    for (Below& one : below) {
      bool enough = true, some = false;
      for (std::size_t i = 0; i < free.size(); ++i) {
        enough = enough && free[i] >= one.lacks[i];
        some = some || free[i] > 0;
      }
      if (!some) return changed;
      for (std::size_t i = 0; i < free.size(); ++i) {
        const double given = enough ? one.lacks[i] : std::min(free[i], one.lacks[i]);
        double& amount = one.share->*kResourceKinds[i].amount;
        if (!enough && view.capacity().*kResourceKinds[i].amount > 0) {
          changed = changed || amount != given;
          amount = given;
        }
        free[i] = rounded(std::max(free[i] - given, 0.0), digits_);
      }
    }
    return changed;
  }

  std::unique_ptr<JobShares> inner_;
  Digits digits_;
  Resources capacity_;
  bool restore_ = true;             // a job has come: the shares become the inner ones again
  std::optional<JobOrder> last_{};  // the last job, by submission, with a task that ended: its end does the same
};

}  // namespace

std::unique_ptr<JobShares> adjusted_shares(std::unique_ptr<JobShares> inner, Digits digits) {
  return std::make_unique<AdjustedShares>(std::move(inner), digits);
}

}  // namespace weft::schedulers

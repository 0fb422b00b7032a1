#include "schedulers/parts/job_shares.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

constexpr double kShareSlack = 1e-11;  // of the capacity

class ClosedForm final : public JobShares {
 public:
  ClosedForm(bool mean_of_all, Digits digits) : mean_of_all_(mean_of_all), digits_(digits) {}

  Result<void> start(const ClusterView& view, Part*) override {
    for (const auto& [id, job] : view.jobs()) stale_.insert(id);
    return {};
  }

  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_ended) {
      stale_.erase(notice.job);
      changed_ = claims_.erase(notice.job) > 0 || changed_;
    } else if (notice.kind == Kind::stage_added || notice.kind == Kind::stage_ready || notice.kind == Kind::stage_complete) {
      stale_.insert(notice.job);
    } else if (notice.kind == Kind::job_changed && !mean_of_all_) {
      const auto claim = claims_.find(notice.job);
      if (claim != claims_.end() && claim->second.finished != view.job(notice.job)->finished) stale_.insert(notice.job);
    }
  }

  ShareChanges refresh(const ClusterView& view) override {
    if (view.capacity() != capacity_) {
      capacity_ = view.capacity();
      changed_ = true;
      for (const auto& [id, claim] : claims_) stale_.insert(id);
    }
    for (JobId id : stale_) refresh(*view.job(id));
    stale_.clear();
    if (!std::exchange(changed_, false)) return {};
    std::vector<DrfClaim> claims;
    for (const auto& [id, claim] : claims_) claims.push_back(claim.mean);
    const auto shares = drf_shares(claims, capacity_, digits_);
    shares_.clear();
    std::size_t i = 0;
    for (const auto& [id, claim] : claims_) shares_.emplace_hint(shares_.end(), id, shares[i++]);
    return {true, {}};
  }

 private:
  struct Claim {
    DrfClaim mean;
    std::uint64_t finished = 0;  // tasks, when it was computed
  };

  void refresh(const JobInfo& job) {
    Claim claim{{{}, job.hints.weight}, job.finished};
    Resources& demand = claim.mean.demand;
    double tasks = 0;
    const Resources* one = nullptr;
    bool unfinished = false, alike = !digits_ && !mean_of_all_;
    for (const auto& [id, stage] : job.stages) {
      unfinished = unfinished || !stage.complete();
      const auto count = static_cast<double>(stage.tasks.size() - (mean_of_all_ ? 0 : stage.finished));
      if (count == 0) continue;
      alike = alike && (one == nullptr || *one == stage.demand);
      one = &stage.demand;
      demand += stage.demand * count;
      tasks += count;
    }
    if (!unfinished) {
      changed_ = claims_.erase(job.id) > 0 || changed_;
      return;
    }
    for (const auto& kind : kResourceKinds) demand.*kind.amount = rounded(demand.*kind.amount, digits_) / tasks;
    if (alike) demand = *one;  // exactly the same however many tasks are left, so that no other share changes
    auto [found, added] = claims_.try_emplace(job.id, claim);
    changed_ = changed_ || added || !(found->second.mean.demand == demand);
    found->second = claim;
  }

  bool mean_of_all_;
  Digits digits_;
  std::set<JobId> stale_;  // jobs whose claims must be computed again
  std::map<JobId, Claim> claims_;
  Resources capacity_;
  bool changed_ = false;
};

class GroupShares final : public JobShares {
 public:
  GroupShares(std::vector<ShareGroup> groups, bool strict) : groups_(std::move(groups)), strict_(strict) {
    for (std::size_t i = 0; i < groups_.size(); ++i) leaves_.emplace(groups_[i].name, i);
    for (const ShareGroup& group : groups_) {
      if (group.parent) leaves_.erase(groups_[*group.parent].name);
    }
  }

  Result<void> admit(const ClusterView&, const JobInfo& job) const override {
    if (!strict_ || leaves_.contains(name_of(job))) return {};
    return fail(Code::invalid_argument,
                fmt::format("job {} asks for queue '{}', which takes no jobs", job.id.value(), escaped(name_of(job))));
  }
  void on_event(const ClusterView&, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_arrived || notice.kind == Kind::job_ended || notice.kind == Kind::stage_added ||
        notice.kind == Kind::stage_complete)
      changed_ = true;
  }

  ShareChanges refresh(const ClusterView& view) override {
    if (view.capacity() == capacity_ && !changed_) return {};
    capacity_ = view.capacity();
    changed_ = false;
    std::map<std::string, double> jobs, top;  // weights of jobs by group; of groups that are not in groups_
    std::vector<bool> active(groups_.size());
    std::vector<const JobInfo*> sharing;
    for (const auto& [id, job] : view.jobs()) {
      if (std::all_of(job.stages.begin(), job.stages.end(), [](const auto& stage) { return stage.second.complete(); })) continue;
      sharing.push_back(&job);
      jobs[name_of(job)] += job.hints.weight;
      if (const auto leaf = leaves_.find(name_of(job)); leaf == leaves_.end()) {
        top[name_of(job)] = 1;
      } else {
        for (std::optional<std::size_t> at = leaf->second; at; at = groups_[*at].parent) active[*at] = true;
      }
    }
    double named_top = 0;
    std::vector<double> below(groups_.size());  // weights of active groups inside
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (active[i]) (groups_[i].parent ? below[*groups_[i].parent] : named_top) += groups_[i].weight;
    }
    const double all = named_top + static_cast<double>(top.size());
    std::map<JobId, Resources> shares;
    for (const JobInfo* job : sharing) {
      double part = job->hints.weight / jobs[name_of(*job)];
      const auto leaf = leaves_.find(name_of(*job));
      if (leaf == leaves_.end()) part /= all;
      for (std::optional<std::size_t> at = leaf == leaves_.end() ? std::nullopt : std::optional(leaf->second); at;
           at = groups_[*at].parent)
        part *= groups_[*at].weight / (groups_[*at].parent ? below[*groups_[*at].parent] : all);
      shares.emplace(job->id, capacity_ * part);
    }
    return {std::exchange(shares_, shares) != shares, {}};
  }

 private:
  static std::string name_of(const JobInfo& job) { return job.pool.empty() ? "default" : job.pool; }

  std::vector<ShareGroup> groups_;
  bool strict_;
  std::map<std::string, std::size_t> leaves_;
  Resources capacity_;
  bool changed_ = true;
};

}  // namespace

std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity, Digits digits) {
  std::vector<Resources> directions;  // d_k times weight
  Resources sum;
  for (const DrfClaim& claim : claims) {
    Resources direction;
    const double dominant = dominant_share(claim.demand, capacity);
    for (const auto& kind : kResourceKinds) {
      const double all = capacity.*kind.amount;
      if (all > 0 && dominant > 0) direction.*kind.amount = claim.weight * (claim.demand.*kind.amount / all / dominant);
    }
    for (const auto& kind : kResourceKinds) sum.*kind.amount = rounded(sum.*kind.amount + direction.*kind.amount, digits);
    directions.push_back(direction);
  }
  double most = 0;
  for (const auto& kind : kResourceKinds) most = std::max(most, sum.*kind.amount);
  for (Resources& share : directions) {
    for (const auto& kind : kResourceKinds) share.*kind.amount *= most > 0 ? capacity.*kind.amount / most : 0;
  }
  return directions;
}

std::unique_ptr<JobShares> closed_form_shares(bool mean_of_all, Digits digits) {
  return std::make_unique<ClosedForm>(mean_of_all, digits);
}
std::unique_ptr<JobShares> group_shares(std::vector<ShareGroup> groups, bool strict) {
  return std::make_unique<GroupShares>(std::move(groups), strict);
}

// ---- launching inside shares ------------------------------------------------------------------------------------------------

Result<void> ShareLimit::start(const ClusterView& view, Part* before) {
  (void)before;
  return shares_->start(view, nullptr);
}

void ShareLimit::on_event(const ClusterView& view, const Notice& notice) {
  shares_->on_event(view, notice);
  if (notice.kind == Notice::Kind::job_ended || notice.kind == Notice::Kind::job_changed) standing_.erase(notice.job);
}

void ShareLimit::plan(const ClusterView& view) {
  capacity_ = view.capacity();
  ShareChanges changes = shares_->refresh(view);
  if (changes.all) standing_.clear();
  for (const JobId job : changes.jobs) standing_.erase(job);
  changes_ = std::move(changes);
}

bool ShareLimit::may_launch(const ClusterView&, const JobInfo& job, const StageInfo& stage) {
  const Standing* now = standing(job);
  return now != nullptr && within(stage.demand, *now);
}

bool ShareLimit::may_launch(const ClusterView&, const JobInfo& job) {
  const Standing* now = standing(job);
  return now != nullptr && now->may_launch;
}

double ShareLimit::lacks(const JobInfo& job) {
  const Standing* now = standing(job);
  return now == nullptr ? 0 : now->lacks;
}

bool ShareLimit::above(const JobInfo& job) {
  const Standing* now = standing(job);
  return now == nullptr || now->above;
}

bool ShareLimit::within(const Resources& demand, const Standing& now) const {
  for (std::size_t i = 0; i < now.left.size(); ++i) {
    const double all = capacity_.*kResourceKinds[i].amount;
    if (all > 0 && demand.*kResourceKinds[i].amount > now.left[i] + kShareSlack * all) return false;
  }
  return true;
}

const ShareLimit::Standing* ShareLimit::standing(const JobInfo& job) {
  if (const auto known = standing_.find(job.id); known != standing_.end()) return &known->second;
  const Resources* share = shares_->share(job.id);
  if (share == nullptr) return nullptr;
  Standing& now = standing_[job.id];
  for (const std::size_t i : kOrderOfSums) {
    const ResourceKind& kind = kResourceKinds[i];
    const double all = capacity_.*kind.amount;
    if (!(all > 0)) continue;
    now.left[i] = rounded(share->*kind.amount - rounded(job.used.*kind.amount, digits_), digits_);
    now.lacks += now.left[i] * (capacity_.cpu / all);
    now.above = now.above || now.left[i] < -kShareSlack * all;
  }
  now.may_launch = !now.above && std::any_of(job.runnable.begin(), job.runnable.end(),
                                             [&](StageId id) { return within(job.stage(id)->demand, now); });
  return &now;
}

void OneTaskEach::plan(const ClusterView& view) {
  bool runs = false;
  for (const auto& [id, job] : view.jobs()) {
    if (job.running == 0) continue;
    runs = true;
    if (!shares_.above(job)) {
      stalled_ = false;
      return;
    }
  }
  stalled_ = stalled_ || !runs;
}

}  // namespace weft::schedulers

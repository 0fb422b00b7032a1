#include "schedulers/policies/drf.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "schedulers/parts/dominant_order.hpp"
#include "schedulers/parts/packing.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/shortest.hpp"

namespace weft::schedulers {

namespace {

/// The closed form's shares as a limit of the first pass.
class DrfShares final : public Limit {
 public:
  DrfShares(bool mean_of_all, Digits digits) : mean_of_all_(mean_of_all), digits_(digits) {}

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
    } else if (notice.kind == Kind::job_changed) {
      if (auto found = standing_.find(notice.job); found != standing_.end()) found->second.known = false;
      if (const auto claim = claims_.find(notice.job); claim != claims_.end() && !mean_of_all_) {
        if (claim->second.finished != view.job(notice.job)->finished) stale_.insert(notice.job);
      }
    }
  }

  void plan(const ClusterView& view) override {
    if (view.capacity() != capacity_) {
      capacity_ = view.capacity();
      changed_ = true;
      for (const auto& [id, claim] : claims_) stale_.insert(id);
    }
    for (JobId id : stale_) refresh(*view.job(id));
    stale_.clear();
    if (!std::exchange(changed_, false)) return;
    std::vector<DrfClaim> claims;
    for (const auto& [id, claim] : claims_) claims.push_back(claim.mean);
    const auto shares = drf_shares(claims, capacity_, digits_);
    standing_.clear();
    std::size_t i = 0;
    for (const auto& [id, claim] : claims_) standing_[id].share = shares[i++];
  }

  bool may_launch(const ClusterView&, const JobInfo& job, const StageInfo& stage) override {
    const Standing* now = standing(job);
    return now != nullptr && within(stage.demand, *now);
  }
  bool may_launch(const ClusterView&, const JobInfo& job) override {
    const Standing* now = standing(job);
    return now != nullptr && now->may_launch;
  }

  /// By how much the job is below its share, over all resources: each counts as its part of the capacity, in cores of that.
  double lacks(const JobInfo& job) {
    const Standing* now = standing(job);
    return now == nullptr ? 0 : now->lacks;
  }

 private:
  static constexpr std::size_t kKinds = kResourceKinds.size();
  static constexpr double kSlack = 1e-11;  // of the capacity
  struct Claim {
    DrfClaim mean;
    std::uint64_t finished = 0;  // tasks, when it was worked out
  };
  /// A job and its share. What is left of that is worked out when it is asked for.
  struct Standing {
    Resources share;
    bool known = false;
    bool may_launch = false;  // a task of a runnable stage, and it is above its share of nothing
    std::array<double, kKinds> left{};
    double lacks = 0;
  };

  bool within(const Resources& demand, const Standing& now) const {
    for (std::size_t i = 0; i < kKinds; ++i) {
      const double all = capacity_.*kResourceKinds[i].amount;
      if (all > 0 && demand.*kResourceKinds[i].amount > now.left[i] + kSlack * all) return false;
    }
    return true;
  }

  const Standing* standing(const JobInfo& job) {
    const auto found = standing_.find(job.id);
    if (found == standing_.end()) return nullptr;
    Standing& now = found->second;
    if (std::exchange(now.known, true)) return &now;
    bool above = false;
    now.lacks = 0;
    for (const std::size_t i : kOrderOfSums) {
      const ResourceKind& kind = kResourceKinds[i];
      const double all = capacity_.*kind.amount;
      if (!(all > 0)) continue;
      now.left[i] = rounded(now.share.*kind.amount - rounded(job.used.*kind.amount, digits_), digits_);
      now.lacks += now.left[i] * (capacity_.cpu / all);
      above = above || now.left[i] < -kSlack * all;
    }
    now.may_launch = !above && std::any_of(job.runnable.begin(), job.runnable.end(),
                                           [&](StageId id) { return within(job.stage(id)->demand, now); });
    return &now;
  }

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
    if (alike) demand = *one;  // the same however many are left: no other share changes
    auto [found, added] = claims_.try_emplace(job.id, claim);
    changed_ = changed_ || added || !(found->second.mean.demand == demand);
    found->second = claim;
  }

  bool mean_of_all_;
  Digits digits_;
  std::set<JobId> stale_;  // whose claims are to be worked out again
  std::map<JobId, Claim> claims_;
  std::unordered_map<JobId, Standing> standing_;
  Resources capacity_;
  bool changed_ = false;
};

/// The job furthest below its share first, and all that it can use; as they are when the pass begins.
class FurthestBelow final : public WhoNext {
 public:
  explicit FurthestBelow(DrfShares& shares) : shares_(shares) {}

  Result<void> start(const ClusterView& view, Part*) override { return jobs_.start(view), Result<void>(); }
  void on_event(const ClusterView& view, const Notice& notice) override { jobs_.on_event(view, notice); }
  bool offer(const ClusterView&, SlotKind, Turn& turn) override {
    if (turn.starts_over()) {
      order_.clear();
      for (const auto& [order, job] : jobs_.all())
        order_.push_back({shares_.lacks(*job), static_cast<std::uint32_t>(order_.size()), job});
      std::sort(order_.begin(), order_.end(),
                [](const Ranked& a, const Ranked& b) { return a.lacks != b.lacks ? a.lacks > b.lacks : a.turn < b.turn; });
      next_ = 0;
    }
    for (; next_ < order_.size(); ++next_) {
      if (turn.serve(*order_[next_].job)) return true;
    }
    return false;
  }

 private:
  struct Ranked {
    double lacks;
    std::uint32_t turn;  // by submission
    const JobInfo* job;
  };
  DrfShares& shares_;
  RunnableJobs jobs_;
  std::vector<Ranked> order_;  // of the pass
  std::size_t next_ = 0;
};

std::unique_ptr<WhoNext> leftover_order(std::string_view name, DrfShares& shares) {
  if (name == "packing") return packing_order();
  if (name == "fifo") return fifo_order();
  if (name == "srtf") return least_work_order();
  if (name == "furthest") return std::make_unique<FurthestBelow>(shares);
  return std::make_unique<DominantOrder>(ShareHolder::job);
}

/// leftover=NAME or [NAME, …]: who gets what the shares leave, one after the other.
Result<std::vector<std::string>> take_leftover(Options& options) {
  constexpr std::array<std::string_view, 5> kKnown{"drf", "fifo", "srtf", "furthest", "packing"};
  WEFT_ASSIGN(std::string text, options.text("leftover", "drf"));
  if (!text.starts_with('[')) text = fmt::format("[{}]", text);
  WEFT_ASSIGN(Options passes, Options::parse("leftover=" + text, {}));
  WEFT_ASSIGN(std::vector<std::string> names, passes.list("leftover"));
  for (const std::string& name : names) {
    if (std::ranges::find(kKnown, name) == kKnown.end())
      return fail(Code::invalid_argument,
                  fmt::format("scheduler option leftover: '{}' is none of {}", escaped(name), fmt::join(kKnown, ", ")));
  }
  return names;
}

Result<Weights> take_weights(Options& options, ShareHolder of) {
  if (of == ShareHolder::job) return Weights();
  WEFT_ASSIGN(const auto file, options.file(of == ShareHolder::user ? "users" : "pools"));
  if (!file) return Weights();
  return of == ShareHolder::user ? Weights::of_users(*file) : Weights::of_pools(*file);
}

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

Result<Composition> make_drf(Options& options, const Registry&) {
  constexpr std::array<std::string_view, 2> kForms{"progressive", "closed"};
  constexpr std::array<std::string_view, 3> kHolders{"job", "user", "pool"};
  constexpr std::array<std::string_view, 2> kMeans{"remaining", "all"};
  WEFT_ASSIGN(const std::size_t form, options.choice("form", kForms, "progressive"));
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "bfs"));
  if (kForms[form] == "progressive") {
    WEFT_ASSIGN(const std::size_t by, options.choice("by", kHolders, "job"));
    const auto holder = static_cast<ShareHolder>(by);
    WEFT_ASSIGN(Weights weights, take_weights(options, holder));
    parts.who = std::make_unique<DominantOrder>(holder, std::move(weights));
    return parts;
  }
  WEFT_ASSIGN(const bool strict, options.flag("strict", false));
  WEFT_ASSIGN(const std::vector<std::string> leftover, take_leftover(options));
  WEFT_ASSIGN(const std::size_t mean, options.choice("mean", kMeans, "remaining"));
  WEFT_ASSIGN(const Digits digits, take_digits(options));
  parts.who = fifo_order();
  auto shares = std::make_unique<DrfShares>(kMeans[mean] == "all", digits);
  DrfShares& share = *shares;
  parts.passes.emplace_back().limit = std::move(shares);
  for (const std::string& name : leftover) {
    if (!strict) parts.passes.emplace_back().who = leftover_order(name, share);
  }
  return parts;
}

}  // namespace weft::schedulers

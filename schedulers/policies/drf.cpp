#include "schedulers/policies/drf.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "schedulers/policies/dominant_order.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/shortest.hpp"
#include "schedulers/policies/stage_orders.hpp"

namespace weft::sched {

namespace {

/// The closed form's shares as a limit of the first pass.
class DrfShares final : public Yield {
 public:
  Result<void> start(const ClusterView& view, Part*) override {
    for (const auto& [id, job] : view.jobs()) stale_.insert(id);
    return {};
  }

  void on_event(const ClusterView&, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_ended) {
      stale_.erase(notice.job);
      changed_ = claims_.erase(notice.job) > 0 || changed_;
    } else if (notice.kind == Kind::job_changed) {
      stale_.insert(notice.job);
    }
  }

  void plan(const ClusterView& view) override {
    for (JobId id : stale_) refresh(*view.job(id));
    stale_.clear();
    if (!changed_ && view.capacity() == capacity_) return;
    changed_ = false;
    capacity_ = view.capacity();
    std::vector<DrfClaim> claims;
    for (const auto& [id, claim] : claims_) claims.push_back(claim);
    const auto shares = drf_shares(claims, capacity_);
    shares_.clear();
    std::size_t i = 0;
    for (const auto& [id, claim] : claims_) shares_[id] = shares[i++];
  }

  bool may_launch(const ClusterView&, const JobInfo& job, const StageInfo& stage) override {
    const auto share = shares_.find(job.id);
    if (share == shares_.end()) return false;
    return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](const ResourceKind& kind) {
      if (!(capacity_.*kind.amount > 0) || stage.demand.*kind.amount <= 0) return true;
      return job.used.*kind.amount + stage.demand.*kind.amount <= share->second.*kind.amount * (1 + 1e-9);
    });
  }

 private:
  void refresh(const JobInfo& job) {
    DrfClaim claim;
    claim.weight = job.hints.weight;
    double tasks = 0;
    for (const auto& [id, stage] : job.stages) {
      const auto left = static_cast<double>(stage.tasks.size() - stage.finished);
      claim.demand += stage.demand * left;
      tasks += left;
    }
    if (tasks == 0) {
      changed_ = claims_.erase(job.id) > 0 || changed_;
      return;
    }
    claim.demand = claim.demand * (1 / tasks);
    auto [found, added] = claims_.try_emplace(job.id, claim);
    changed_ = changed_ || added || !(found->second.demand == claim.demand);
    found->second = claim;
  }

  std::set<JobId> stale_;  // whose claims are to be worked out again
  std::map<JobId, DrfClaim> claims_;
  std::map<JobId, Resources> shares_;
  Resources capacity_;
  bool changed_ = false;
};

std::unique_ptr<WhoNext> leftover_order(std::string_view name) {
  if (name == "fifo") return fifo_order();
  if (name == "srtf") return least_work_order();
  return std::make_unique<DominantOrder>(ShareHolder::job);
}

}  // namespace

std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity) {
  std::vector<Resources> directions;  // d_k times weight
  Resources sum;
  for (const DrfClaim& claim : claims) {
    Resources direction;
    const double dominant = dominant_share(claim.demand, capacity);
    for (const auto& kind : kResourceKinds) {
      const double all = capacity.*kind.amount;
      if (all > 0 && dominant > 0) direction.*kind.amount = claim.weight * claim.demand.*kind.amount / all / dominant;
    }
    sum += direction;
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
  constexpr std::array<std::string_view, 3> kLeftover{"drf", "fifo", "srtf"};
  WEFT_ASSIGN(const std::size_t form, options.choice("form", kForms, "progressive"));
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "bfs"));
  if (kForms[form] == "progressive") {
    WEFT_ASSIGN(const std::size_t by, options.choice("by", kHolders, "job"));
    parts.who = std::make_unique<DominantOrder>(static_cast<ShareHolder>(by));
    return parts;
  }
  WEFT_ASSIGN(const bool strict, options.flag("strict", false));
  WEFT_ASSIGN(const std::size_t leftover, options.choice("leftover", kLeftover, "drf"));
  parts.who = fifo_order();
  parts.yield = std::make_unique<DrfShares>();
  parts.leftover = leftover_order(kLeftover[leftover]);
  parts.second_pass = !strict;
  return parts;
}

}  // namespace weft::sched

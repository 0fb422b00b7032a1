#include "schedulers/policies/drf.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/parts/dominant_order.hpp"
#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/packing.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/shortest.hpp"

namespace weft::schedulers {

namespace {

/// The job that is furthest below its share when the pass begins goes first, and launches all that it can.
class FurthestBelow final : public OrderingPolicy {
 public:
  explicit FurthestBelow(ShareLimit& shares) : shares_(shares) {}

  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    if (launcher.starts_over()) {
      order_.clear();
      for (const JobOrder& order : view.runnable_jobs()) {
        const JobInfo* job = view.job(order.id);
        order_.push_back({shares_.lacks(*job), static_cast<std::uint32_t>(order_.size()), job});
      }
      std::sort(order_.begin(), order_.end(),
                [](const Ranked& a, const Ranked& b) { return a.lacks != b.lacks ? a.lacks > b.lacks : a.turn < b.turn; });
      next_ = 0;
    }
    for (; next_ < order_.size(); ++next_) {
      const JobInfo& job = *order_[next_].job;
      if (job.pending > 0 && launcher.launch(job)) return true;
    }
    return false;
  }

 private:
  struct Ranked {
    double lacks;
    std::uint32_t turn;  // by submission
    const JobInfo* job;
  };
  ShareLimit& shares_;
  std::vector<Ranked> order_;  // of the pass
  std::size_t next_ = 0;
};

std::unique_ptr<OrderingPolicy> leftover_order(std::string_view name, ShareLimit& shares) {
  if (name == "packing") return packing_order();
  if (name == "fifo") return fifo_order();
  if (name == "srtf") return least_work_order();
  if (name == "furthest") return std::make_unique<FurthestBelow>(shares);
  return std::make_unique<DominantOrder>(ShareHolder::job);
}

Result<Weights> take_weights(Options& options, ShareHolder of) {
  if (of == ShareHolder::job) return Weights();
  WEFT_ASSIGN(const auto file, options.file(of == ShareHolder::user ? "users" : "pools"));
  if (!file) return Weights();
  return of == ShareHolder::user ? Weights::of_users(*file) : Weights::of_pools(*file);
}

}  // namespace

Result<Composition> make_drf(Options& options, const Registry&) {
  WEFT_ASSIGN(const bool closed, options.choice<bool>("form", {{"progressive", false}, {"closed", true}}, "progressive"));
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "bfs"));
  if (!closed) {
    WEFT_ASSIGN(const ShareHolder holder,
                options.choice<ShareHolder>(
                    "by", {{"job", ShareHolder::job}, {"user", ShareHolder::user}, {"pool", ShareHolder::pool}}, "job"));
    WEFT_ASSIGN(Weights weights, take_weights(options, holder));
    parts.jobs = std::make_unique<DominantOrder>(holder, std::move(weights));
    parts.round_order = RoundOrder::by_rounds_left;
    return parts;
  }
  WEFT_ASSIGN(const bool strict, options.flag("strict", false));
  constexpr std::array<std::string_view, 5> kLeftover{"drf", "fifo", "srtf", "furthest", "packing"};
  WEFT_ASSIGN(const std::vector<std::string> leftover, options.choices("leftover", kLeftover, "drf"));
  WEFT_ASSIGN(const bool mean_of_all, options.choice<bool>("mean", {{"remaining", false}, {"all", true}}, "remaining"));
  WEFT_ASSIGN(const Digits digits, take_digits(options));
  parts.jobs = fifo_order();
  auto shares = std::make_unique<ShareLimit>(closed_form_shares(mean_of_all, digits), digits);
  ShareLimit& share = *shares;
  parts.passes.emplace_back().limit = std::move(shares);
  for (const std::string& name : leftover) {
    if (!strict) parts.passes.emplace_back().jobs = leftover_order(name, share);
  }
  if (strict) parts.passes.emplace_back().limit = std::make_unique<OneTaskEach>(share);
  return parts;
}

}  // namespace weft::schedulers

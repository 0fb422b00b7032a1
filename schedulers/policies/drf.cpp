#include "schedulers/policies/drf.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/parts/dominant_order.hpp"
#include "schedulers/parts/job_shares.hpp"
#include "schedulers/parts/packing.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/shortest.hpp"

namespace weft::schedulers {

namespace {

/// The job furthest below its share first, and all that it can use; as they are when the pass begins.
class FurthestBelow final : public WhoNext {
 public:
  explicit FurthestBelow(ShareLimit& shares) : shares_(shares) {}

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
  ShareLimit& shares_;
  RunnableJobs jobs_;
  std::vector<Ranked> order_;  // of the pass
  std::size_t next_ = 0;
};

std::unique_ptr<WhoNext> leftover_order(std::string_view name, ShareLimit& shares) {
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
  constexpr std::array<std::string_view, 5> kLeftover{"drf", "fifo", "srtf", "furthest", "packing"};
  WEFT_ASSIGN(const std::vector<std::string> leftover, options.choices("leftover", kLeftover, "drf"));
  WEFT_ASSIGN(const std::size_t mean, options.choice("mean", kMeans, "remaining"));
  WEFT_ASSIGN(const Digits digits, take_digits(options));
  parts.who = fifo_order();
  auto shares = std::make_unique<ShareLimit>(closed_form_shares(kMeans[mean] == "all", digits), digits);
  ShareLimit& share = *shares;
  parts.passes.emplace_back().limit = std::move(shares);
  for (const std::string& name : leftover) {
    if (!strict) parts.passes.emplace_back().who = leftover_order(name, share);
  }
  if (strict) parts.passes.emplace_back().limit = std::make_unique<OneTaskEach>(share);
  return parts;
}

}  // namespace weft::schedulers

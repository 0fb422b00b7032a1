#include "schedulers/policies/fair.hpp"

#include "schedulers/parts/fair_preemption.hpp"
#include "schedulers/parts/pool_tree.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

class FairOrder final : public OrderingPolicy, public JobGroups {
 public:
  FairOrder(const std::vector<PoolSettings>& pools, PoolSettings otherwise) : tree_(pools, std::move(otherwise)) {}
  PoolTree& tree() { return tree_; }

  Result<void> start(const ClusterView& view, Part*) override {
    for (const auto& [id, job] : view.jobs()) tree_.arrive(view, job);
    return {};
  }
  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_arrived) tree_.arrive(view, *view.job(notice.job));
    if (notice.kind == Kind::job_changed) tree_.change(view, *view.job(notice.job));
    if (notice.kind == Kind::job_ended) tree_.end(view, *view.job(notice.job));
  }
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override { return tree_.offer(view, kind, launcher); }
  bool offers_all() const override { return !tree_.limited(); }
  bool within_limits(const ClusterView&, const JobInfo& job, const StageInfo&) const override { return tree_.may_run(job.id); }
  std::vector<GroupStatus> groups(const ClusterView& view) const override {
    std::vector<GroupStatus> all;
    const auto kinds = slot_kinds(view);
    for (PoolTree::PoolIndex i = 1; i < tree_.size(); ++i) {
      const PoolTree::Pool& pool = tree_.pool(i);
      if (!pool.configured && pool.jobs.empty()) continue;
      GroupStatus& status = all.emplace_back();
      status.name = pool.settings.name;
      status.parent = tree_.pool(pool.parent).settings.name;
      status.weight = pool.settings.weight;
      status.jobs = pool.jobs.size();
      for (SlotKind kind : kinds) {
        status.guaranteed += amount_of(pool.settings.min_share, kind);
        status.fair_share += tree_.shares(view, kind, amount_of(view.capacity(), kind)).pools[i];
        status.used += pool.amounts[static_cast<std::size_t>(kind)].used;
        status.demand += pool.amounts[static_cast<std::size_t>(kind)].demand;
      }
    }
    return all;
  }

 private:
  PoolTree tree_;
};

}  // namespace

Result<Composition> make_fair(Options& options, const Registry&) {
  std::vector<PoolSettings> pools;
  WEFT_ASSIGN(const auto file, options.file("pools"));
  if (file) {
    WEFT_ASSIGN(pools, parse_pools(*file));
  }
  FairPreemptionOptions preemption;
  WEFT_ASSIGN(const bool preempts, options.flag("preemption", false));
  WEFT_ASSIGN(preemption.interval, options.duration("interval", preemption.interval));
  WEFT_ASSIGN(preemption.update, options.duration("update", preemption.update));
  if (preemption.update <= Time(0)) return fail(Code::invalid_argument, "scheduler option update must be more than 0");
  PoolSettings otherwise;
  WEFT_ASSIGN(const Time min_share_timeout, options.duration("min_share_timeout", Time(-1)));
  WEFT_ASSIGN(const Time fair_share_timeout, options.duration("fair_share_timeout", Time(-1)));
  if (min_share_timeout >= Time(0)) otherwise.min_share_timeout = min_share_timeout;
  if (fair_share_timeout >= Time(0)) otherwise.fair_share_timeout = fair_share_timeout;
  for (PoolSettings& pool : pools) {
    if (!pool.min_share_timeout) pool.min_share_timeout = otherwise.min_share_timeout;
    if (!pool.fair_share_timeout) pool.fair_share_timeout = otherwise.fair_share_timeout;
  }
  Composition parts;
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  auto order = std::make_unique<FairOrder>(pools, std::move(otherwise));
  if (preempts) parts.preemption = std::make_unique<FairPreemption>(order->tree(), preemption);
  parts.groups = order.get();
  parts.round_order = RoundOrder::by_rounds_left;
  parts.jobs = std::move(order);
  return parts;
}

}  // namespace weft::schedulers

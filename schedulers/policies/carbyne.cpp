#include "schedulers/policies/carbyne.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "schedulers/config/pools.hpp"
#include "schedulers/config/queues.hpp"
#include "schedulers/parts/altruism.hpp"
#include "schedulers/parts/dominant_order.hpp"
#include "schedulers/parts/due_jobs.hpp"
#include "schedulers/parts/packing.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/fifo.hpp"
#include "schedulers/policies/shortest.hpp"

namespace weft::schedulers {

namespace {

/// The next job launches what must begin now so that it ends as early as all leftover capacity allows.
class PlannedLeftover final : public Limit {
 public:
  explicit PlannedLeftover(const PlanOptions& options) : options_(options) {}

  void plan(const ClusterView&) override { may_.clear(); }
  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind != Notice::Kind::task_launched) return;
    if (const auto found = may_.find(notice.job); found != may_.end() && found->second[notice.stage] > 0)
      --found->second[notice.stage];
  }
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override {
    const auto [found, added] = may_.try_emplace(job.id);
    if (added) found->second = must_begin(view, job);
    const auto of_stage = found->second.find(stage.id);
    return of_stage != found->second.end() && of_stage->second > 0;
  }

 private:
  std::map<StageId, std::uint32_t> must_begin(const ClusterView& view, const JobInfo& job) const {
    std::map<StageId, std::uint32_t> tasks;
    const Parts left = parts_of(view.capacity() - view.used(), view.capacity(), options_.digits);
    const JobDag dag = dag_of(job, view.capacity(), options_.digits);
    for (const DagStage& stage : dag.stages) {
      for (std::size_t kind = 0; kind < left.size(); ++kind) {
        if (stage.waiting > 0 && stage.demand[kind] > left[kind] + 1e-9) return tasks;
      }
    }
    const DagPlan plan = pack(dag.stages, left, Direction::backwards, {{}, options_.digits});
    if (!plan.complete) return tasks;
    for (const PlannedLaunches& one : plan.launches) {
      if (one.start <= Time(0)) tasks[dag.ids[one.stage]] += one.tasks;
    }
    return tasks;
  }

  PlanOptions options_;
  std::map<JobId, std::map<StageId, std::uint32_t>> may_;  // in this pass
};

/// Where amounts are rounded, the simulator of the authors never launches a task that scores 0 or that does not fit a shrunken
/// share, and then stops. Here such a task may be launched when nothing runs.
class WhenNothingRuns final : public Limit {
 public:
  void plan(const ClusterView&) override {}
  bool may_launch(const ClusterView& view, const JobInfo&, const StageInfo&) override {
    return std::ranges::all_of(view.nodes(), [](const auto& node) { return node.second.running.empty(); });
  }
};

/// The configured order; breadth first for jobs whose durations are not known.
class TrustedOrder final : public StageOrder {
 public:
  TrustedOrder(const Altruism& altruism, std::unique_ptr<StageOrder> trusted)
      : altruism_(altruism), trusted_(std::move(trusted)), other_(breadth_first()) {}

  void on_event(const ClusterView& view, const Notice& notice) override {
    trusted_->on_event(view, notice);
    other_->on_event(view, notice);
  }
  void order(const ClusterView& view, const JobInfo& job, const NodeInfo* node, std::vector<StageId>& out) override {
    (altruism_.trusts(job.id) ? trusted_ : other_)->order(view, job, node, out);
  }

 private:
  const Altruism& altruism_;
  std::unique_ptr<StageOrder> trusted_, other_;
};

enum class Mode : std::uint8_t { bounded, paper, safe, reference };

std::unique_ptr<OrderingPolicy> leftover_pass(std::string_view name) {
  if (name == "packing") return packing_order();
  if (name == "fifo") return fifo_order();
  if (name == "drf") return std::make_unique<DominantOrder>(ShareHolder::job);
  return least_work_order();
}

/// `grouped`: set where pools or queues have the shares.
Result<std::unique_ptr<JobShares>> take_shares(Options& options, bool mean_of_all, Digits digits, bool& grouped) {
  constexpr std::array<std::string_view, 3> kInter{"drf", "fair", "capacity"};
  WEFT_ASSIGN(const std::size_t inter, options.choice("inter", kInter, "drf"));
  std::vector<ShareGroup> groups;
  grouped = kInter[inter] != "drf";
  if (!grouped) return closed_form_shares(mean_of_all, digits);
  if (kInter[inter] == "fair") {
    WEFT_ASSIGN(const auto file, options.file("pools"));
    if (!file) return group_shares({}, false);
    WEFT_ASSIGN(const auto pools, parse_pools(*file));
    for (const PoolSettings& pool : pools) groups.push_back({pool.name, pool.parent, pool.weight});
    return group_shares(std::move(groups), false);
  }
  WEFT_ASSIGN(const auto file, options.file("queues"));
  if (!file) return group_shares({}, false);
  WEFT_ASSIGN(const auto queues, parse_queues(*file));
  for (const QueueSettings& queue : queues) groups.push_back({queue.name, queue.parent, queue.capacity});
  return group_shares(std::move(groups), true);
}

}  // namespace

Result<Composition> make_carbyne(Options& options, const Registry&) {
  constexpr std::array<std::string_view, 5> kLeftover{"srtf", "packing", "fifo", "drf", "planned"};
  AltruismOptions altruism;
  WEFT_ASSIGN(
      const Mode mode,
      options.choice<Mode>(
          "mode", {{"bounded", Mode::bounded}, {"paper", Mode::paper}, {"safe", Mode::safe}, {"reference", Mode::reference}},
          "bounded"));
  altruism.plan.mode = mode == Mode::safe ? PlanMode::safe : mode == Mode::reference ? PlanMode::reference : PlanMode::faithful;
  WEFT_ASSIGN(const bool mean_of_all, options.choice<bool>("mean", {{"all", true}, {"remaining", false}}, "all"));
  WEFT_ASSIGN(altruism.altruism, options.number("altruism", 1, 0, 1));
  WEFT_ASSIGN(altruism.seed, options.whole("seed", 1));
  WEFT_ASSIGN(altruism.plan.intra,
              options.choice<IntraPolicy>(
                  "intra",
                  {{"packing", IntraPolicy::packing}, {"critical-path", IntraPolicy::critical_path}, {"dagps", IntraPolicy::dagps}},
                  "packing"));
  const bool reference = altruism.plan.mode == PlanMode::reference, altruistic = altruism.altruism > 0;
  if (reference) altruism.plan.digits = 100.0;
  WEFT_ASSIGN(const auto leftover, options.choices("leftover", kLeftover,
                                                   reference    ? "planned"
                                                   : altruistic ? "[srtf, packing]"
                                                                : "drf"));
  WEFT_ASSIGN(const bool shares_are_lent, options.choice<bool>("loan", {{"task", false}, {"share", true}},
                                                               reference || mode == Mode::bounded ? "share" : "task"));
  if (shares_are_lent && altruism.plan.mode == PlanMode::safe)
    return fail(Code::invalid_argument,
                "mode=safe keeps what was planned inside a share, and with loan=share that changes: leave one out");
  Composition parts;
  const bool stages_given = options.given("stages");
  WEFT_ASSIGN(parts.stages, take_stage_order(options, altruistic ? "cpm" : "bfs"));
  bool grouped = false;
  WEFT_ASSIGN(auto shares, take_shares(options, mean_of_all, altruism.plan.digits, grouped));
  if (mode == Mode::bounded && !grouped) parts.passes.emplace_back().jobs = std::make_unique<DueJobs>(Weights());
  if (shares_are_lent && altruistic) shares = adjusted_shares(std::move(shares), altruism.plan.digits);
  parts.admission = shares.get();
  Altruism* plans = nullptr;
  if (altruistic) {
    auto limit = std::make_unique<Altruism>(std::move(shares), altruism);
    plans = limit.get();
    Pass& pass = parts.passes.emplace_back();
    pass.jobs = std::make_unique<AltruisticJobs>(*plans);
    pass.limit = std::move(limit);
    if (!reference && !stages_given && parts.stages) parts.stages = std::make_unique<TrustedOrder>(*plans, std::move(parts.stages));
  } else {
    parts.passes.emplace_back().limit = std::make_unique<ShareLimit>(std::move(shares), altruism.plan.digits);
  }
  const bool safe = altruistic && altruism.plan.mode == PlanMode::safe;
  const bool only_planned = std::ranges::all_of(leftover, [](const std::string& name) { return name == "planned"; });
  parts.jobs = fifo_order();
  // Any event may change a plan, so that capacity of any node that was kept free is needed.
  parts.all_nodes = altruistic && (safe || only_planned);
  parts.round_order = RoundOrder::by_rounds_left;
  for (const std::string& name : leftover) {
    Pass& pass = parts.passes.emplace_back();
    pass.jobs = leftover_pass(name);
    if (safe) pass.limit = std::make_unique<SpareCapacity>(*plans);
    if (name == "planned" && altruistic && !safe) pass.limit = std::make_unique<PlannedLeftover>(altruism.plan);
  }
  if (reference || (shares_are_lent && altruistic && only_planned))
    parts.passes.emplace_back().limit = std::make_unique<WhenNothingRuns>();
  return parts;
}

}  // namespace weft::schedulers

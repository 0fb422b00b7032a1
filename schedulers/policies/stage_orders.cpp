#include "schedulers/policies/stage_orders.hpp"

#include <algorithm>
#include <array>
#include <ranges>

namespace weft::sched {

namespace {

class BreadthFirst final : public StageOrder {
 public:
  void order(const ClusterView&, const JobInfo& job, std::vector<StageId>& out) override {
    out.assign(job.runnable.begin(), job.runnable.end());
    std::stable_sort(out.begin(), out.end(), [&job](StageId a, StageId b) { return job.stage(a)->depth < job.stage(b)->depth; });
  }
};

class CriticalPath final : public StageOrder {
 public:
  void on_event(const ClusterView&, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::stage_added || notice.kind == Kind::stage_complete || notice.kind == Kind::job_ended)
      paths_.erase(notice.job);
  }
  void order(const ClusterView&, const JobInfo& job, std::vector<StageId>& out) override {
    out.assign(job.runnable.begin(), job.runnable.end());
    if (out.size() < 2) return;
    auto [found, added] = paths_.try_emplace(job.id);
    if (added) found->second = critical_paths(job, false);
    const auto& paths = found->second;
    std::stable_sort(out.begin(), out.end(), [&paths](StageId a, StageId b) { return paths.at(a) > paths.at(b); });
  }

 private:
  std::map<JobId, std::map<StageId, double>> paths_;
};

Result<Composition> with_stage_order(Options& options, const Registry& registry, std::unique_ptr<StageOrder> order) {
  WEFT_ASSIGN(const std::string inner, options.text("inner", "fifo"));
  WEFT_ASSIGN(Composition parts, registry.compose(inner, options.reader()));
  parts.stages = std::move(order);
  return parts;
}

}  // namespace

double task_seconds(const StageInfo& stage) {
  const auto told = stage.estimated_duration ? stage.estimated_duration : stage.mean_duration();
  return told ? std::chrono::duration<double>(*told).count() : 1.0;
}

std::map<StageId, double> critical_paths(const JobInfo& job, bool remaining) {
  std::map<StageId, double> paths;
  for (const auto& [id, stage] : std::ranges::reverse_view(job.stages)) {  // children have larger ids
    double longest = 0;
    for (StageId child : stage.children) longest = std::max(longest, paths[child]);
    paths[id] = longest + (remaining && stage.complete() ? 0 : task_seconds(stage));
  }
  return paths;
}

Result<std::unique_ptr<StageOrder>> take_stage_order(Options& options, std::string_view otherwise) {
  constexpr std::array<std::string_view, 3> kOrders{"fifo", "bfs", "cpm"};
  WEFT_ASSIGN(const std::size_t which, options.choice("stages", kOrders, otherwise));
  std::unique_ptr<StageOrder> order;
  if (kOrders[which] == "bfs") order = std::make_unique<BreadthFirst>();
  if (kOrders[which] == "cpm") order = std::make_unique<CriticalPath>();
  return order;
}

Result<Composition> make_cpm(Options& options, const Registry& registry) {
  return with_stage_order(options, registry, std::make_unique<CriticalPath>());
}
Result<Composition> make_bfs(Options& options, const Registry& registry) {
  return with_stage_order(options, registry, std::make_unique<BreadthFirst>());
}

}  // namespace weft::sched

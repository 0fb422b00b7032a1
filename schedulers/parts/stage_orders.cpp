#include "schedulers/parts/stage_orders.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/clock.hpp"
#include "schedulers/planning/alignment.hpp"
#include "schedulers/planning/job_dag.hpp"
#include "schedulers/planning/troublesome.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

class BreadthFirst final : public StageOrder {
 public:
  void on_event(const ClusterView& view, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_ended) ready_.erase(notice.job);
    if (notice.kind != Kind::stage_ready && notice.kind != Kind::stage_complete) return;
    Ready& ready = ready_of(*view.job(notice.job));
    std::erase_if(ready, [&](const auto& entry) { return std::get<StageId>(entry) == notice.stage; });
    if (notice.kind == Kind::stage_complete) return;
    const std::tuple entry{view.stage(notice.job, notice.stage)->depth, view.now(), notice.stage};
    ready.insert(std::upper_bound(ready.begin(), ready.end(), entry), entry);
  }
  void order(const ClusterView&, const JobInfo& job, const NodeInfo*, std::vector<StageId>& out) override {
    for (const auto& entry : ready_of(job)) out.push_back(std::get<StageId>(entry));
  }

 private:
  using Ready = std::vector<std::tuple<std::uint32_t, Time, StageId>>;  // depth, since when; ascending

  Ready& ready_of(const JobInfo& job) {
    auto [found, added] = ready_.try_emplace(job.id);
    if (added) {  // the job is older than this order
      for (const auto& [id, stage] : job.stages) {
        if (stage.ready) found->second.emplace_back(stage.depth, Time(0), id);
      }
      std::sort(found->second.begin(), found->second.end());
    }
    return found->second;
  }

  std::map<JobId, Ready> ready_;
};

class SortedStages {
 public:
  /// Appends the runnable stages of the job to `out`, those with the smallest key(stage) first, and of equal ones by id.
  template <class Key>
  void by(const JobInfo& job, Key&& key, std::vector<StageId>& out) {
    keys_.clear();
    for (StageId id : job.runnable) keys_.emplace_back(key(id), id);
    std::sort(keys_.begin(), keys_.end());
    for (const auto& [of, id] : keys_) out.push_back(id);
  }

 private:
  std::vector<std::pair<double, StageId>> keys_;  // scratch
};

class CriticalPath final : public StageOrder {
 public:
  void on_event(const ClusterView&, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::stage_added || notice.kind == Kind::stage_complete || notice.kind == Kind::job_ended)
      paths_.erase(notice.job);
  }
  void order(const ClusterView&, const JobInfo& job, const NodeInfo*, std::vector<StageId>& out) override {
    if (job.runnable.size() == 1) return out.push_back(*job.runnable.begin());
    auto [found, added] = paths_.try_emplace(job.id);
    if (added) found->second = critical_paths(job, false);
    sort_.by(
        job, [&](StageId id) { return -found->second.at(id); }, out);
  }

 private:
  SortedStages sort_;
  std::map<JobId, std::map<StageId, double>> paths_;
};

class TroublesomeFirst final : public StageOrder {
 public:
  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind == Notice::Kind::stage_added || notice.kind == Notice::Kind::job_ended) ranks_.erase(notice.job);
  }
  void order(const ClusterView& view, const JobInfo& job, const NodeInfo*, std::vector<StageId>& out) override {
    if (job.runnable.size() == 1) return out.push_back(*job.runnable.begin());
    auto [found, added] = ranks_.try_emplace(job.id);
    if (added) {
      const JobDag dag = dag_of(job, view.capacity());
      const auto ranks = ranks_by_trouble(dag.stages, parts_of(view.capacity(), view.capacity(), {}), Direction::forwards);
      for (std::size_t i = 0; i < ranks.size(); ++i) found->second.emplace(dag.ids[i], ranks[i]);
    }
    sort_.by(
        job, [&](StageId id) { return found->second[id]; }, out);
  }

 private:
  SortedStages sort_;
  std::map<JobId, std::map<StageId, double>> ranks_;
};

class BestAligned final : public StageOrder {
 public:
  void order(const ClusterView& view, const JobInfo& job, const NodeInfo* node, std::vector<StageId>& out) override {
    const Resources& capacity = node != nullptr ? node->capacity : view.capacity();
    const Parts free = parts_of(capacity - (node != nullptr ? node->used : view.used()), capacity, {});
    sort_.by(
        job, [&](StageId id) { return -alignment(parts_of(job.stage(id)->demand, capacity, {}), free, {}); }, out);
  }

 private:
  SortedStages sort_;
};

template <class Order>
std::unique_ptr<StageOrder> made() {
  return std::make_unique<Order>();
}

template <class Order>
Result<Composition> with_stage_order(Options& options, const Registry& registry) {
  WEFT_ASSIGN(const std::string inner, options.text("inner", "fifo"));
  WEFT_ASSIGN(Composition parts, registry.compose(inner, options.reader()));
  if (parts.jobs->asks() != Asks::jobs)
    return fail(Code::invalid_argument, "scheduler option inner has no use for an order of stages");
  parts.stages = made<Order>();
  return parts;
}

}  // namespace

double task_seconds(const StageInfo& stage) { return in_seconds(task_duration(stage).value); }

std::map<StageId, double> critical_paths(const JobInfo& job, bool remaining) {
  std::map<StageId, double> paths;
  for (auto at = job.stages.rbegin(); at != job.stages.rend(); ++at) {  // children have larger ids
    const auto& [id, stage] = *at;
    double longest = 0;
    for (StageId child : stage.children) longest = std::max(longest, paths[child]);
    paths[id] = longest + (remaining && stage.complete() ? 0 : task_seconds(stage));
  }
  return paths;
}

std::unique_ptr<StageOrder> breadth_first() { return made<BreadthFirst>(); }

Result<std::unique_ptr<StageOrder>> take_stage_order(Options& options, std::string_view otherwise) {
  using Make = std::unique_ptr<StageOrder> (*)();
  WEFT_ASSIGN(const Make make, options.choice<Make>("stages",
                                                    {{"fifo", [] { return std::unique_ptr<StageOrder>(); }},
                                                     {"bfs", made<BreadthFirst>},
                                                     {"cpm", made<CriticalPath>},
                                                     {"packing", made<BestAligned>},
                                                     {"dagps", made<TroublesomeFirst>}},
                                                    otherwise));
  return make();
}

Result<Composition> make_cpm(Options& options, const Registry& registry) {
  return with_stage_order<CriticalPath>(options, registry);
}
Result<Composition> make_bfs(Options& options, const Registry& registry) {
  return with_stage_order<BreadthFirst>(options, registry);
}
Result<Composition> make_dagps(Options& options, const Registry& registry) {
  return with_stage_order<TroublesomeFirst>(options, registry);
}

}  // namespace weft::schedulers

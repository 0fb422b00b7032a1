#include "schedulers/policies/cogrs.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "schedulers/parts/gravity.hpp"

namespace weft::schedulers {

namespace {

constexpr std::size_t kLargestSeen = 4;  // reduces that a node is measured against before the wait is over

class Cogrs final : public Placement {
 public:
  Cogrs(Time wait, bool weighted) : wait_(wait), weighted_(weighted) {}

  void on_event(const ClusterView&, const Notice& notice) override {
    using Kind = Notice::Kind;
    if (notice.kind == Kind::job_ended) {
      erase_job(plans_, notice.job);
    } else if (notice.kind == Kind::task_failed || notice.kind == Kind::task_preempted) {
      if (auto plan = plans_.find({notice.job, notice.stage}); plan != plans_.end()) list(plan->second, notice.task);
    } else if (notice.kind == Kind::stage_ready) {
      if (auto plan = plans_.find({notice.job, notice.stage}); plan != plans_.end()) plan->second.stale = true;
    } else if (notice.kind == Kind::node_left) {  // with tasks and map outputs
      for (auto& [key, plan] : plans_) plan.stale = true;
    }
  }

  bool places(const ClusterView&, const JobInfo&, const StageInfo& stage) const override { return stage.reads_shuffle; }

  std::optional<std::uint32_t> choose(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                      const NodeInfo& node) override {
    Plan& plan = plan_of(view, job, stage);
    auto task = at_centre(stage, plan, node.id);
    if (!task) task = nowhere_nearer(view, stage, plan, node);
    if (task) {
      plan.waits_since.reset();
    } else if (plan.waits_since && view.now() - *plan.waits_since >= wait_) {
      task = relatively_nearest(view, stage, plan, node);
    }
    if (!task) task = avoiding(stage, node);
    return task;
  }

  void waiting(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Decisions& decisions) override {
    Plan& plan = plan_of(view, job, stage);
    if (!plan.waits_since) plan.waits_since = view.now();
    if (view.now() - *plan.waits_since < wait_) decisions.wake_at(*plan.waits_since + wait_);
  }

 private:
  using Key = std::pair<JobId, StageId>;
  struct Reduce {
    Gravity gravity;
    std::vector<Gravity::Near> nearest;  // sources, the centre of gravity first
  };
  struct Plan {
    bool stale = true;
    std::uint64_t maps = 0;  // finished when it was made
    std::vector<Reduce> reduces;
    std::map<NodeId, std::set<std::pair<double, std::uint32_t>>> by_centre;  // minus bytes, task: the largest first
    std::set<std::pair<double, std::uint32_t>> by_size;
    std::optional<Time> waits_since;
  };

  Plan& plan_of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) {
    Plan& plan = plans_[{job.id, stage.id}];
    std::uint64_t maps = 0;
    for (StageId parent : stage.parents) maps += job.stage(parent)->output.finished_maps();
    if (plan.stale || maps < plan.maps || maps > plan.maps + plan.maps / 20) make(view, job, stage, plan, maps);
    return plan;
  }

  /// Sums of these partitions by the task that reads them.
  static std::vector<std::uint64_t> by_task(const StageInfo& stage, std::vector<std::uint64_t> partitions) {
    if (stage.bounds.empty()) return partitions;
    std::vector<std::uint64_t> bytes(stage.tasks.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (std::uint32_t of = stage.bounds[i]; of < std::min<std::size_t>(stage.bounds[i + 1], partitions.size()); ++of)
        bytes[i] += partitions[of];
    return bytes;
  }

  void make(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Plan& plan, std::uint64_t maps) const {
    const auto waits_since = plan.waits_since;
    plan = Plan{};
    plan.waits_since = waits_since;
    plan.stale = false;
    plan.maps = maps;
    plan.reduces.resize(stage.tasks.size());
    for (StageId parent : stage.parents) {
      for (const auto& [node, there] : job.stage(parent)->output.by_node()) {
        const std::vector<std::uint64_t> weights = by_task(stage, weighted_ ? there.partitions() : there.feeders());
        for (std::size_t i = 0; i < std::min(weights.size(), plan.reduces.size()); ++i) {
          if (weights[i] > 0) plan.reduces[i].gravity.add(view, node, static_cast<double>(weights[i]));
        }
      }
    }
    for (std::uint32_t i = 0; i < plan.reduces.size(); ++i) {
      Reduce& reduce = plan.reduces[i];
      reduce.nearest = reduce.gravity.nearest();
      if (!is_over(stage, i)) list(plan, i);
    }
  }

  /// Adds the task to those to choose from. One that runs or has finished is removed when it is met.
  static void list(Plan& plan, std::uint32_t task) {
    if (task >= plan.reduces.size()) return;
    const Reduce& reduce = plan.reduces[task];
    const std::pair entry{-reduce.gravity.total(), task};
    plan.by_size.insert(entry);
    if (!reduce.nearest.empty()) plan.by_centre[reduce.nearest.front().node].insert(entry);
  }

  static bool may_run(const StageInfo& stage, std::uint32_t task) { return stage.pending.unconstrained().contains(task); }

  /// Not one that pauses after a failure, or avoids a node: nothing tells when it may run.
  static bool is_over(const StageInfo& stage, std::uint32_t task) {
    const TaskState state = stage.tasks[task].state;
    return state == TaskState::running || state == TaskState::finished;
  }

  static std::optional<std::uint32_t> at_centre(const StageInfo& stage, Plan& plan, NodeId node) {
    auto found = plan.by_centre.find(node);
    if (found == plan.by_centre.end()) return std::nullopt;
    auto& tasks = found->second;
    for (auto entry = tasks.begin(); entry != tasks.end();) {
      if (may_run(stage, entry->second)) return entry->second;
      entry = is_over(stage, entry->second) ? tasks.erase(entry) : std::next(entry);
    }
    if (tasks.empty()) plan.by_centre.erase(found);
    return std::nullopt;
  }

  /// Calls use(task) with at most `at_most` pending reduces, the largest first, until it returns true.
  template <class Use>
  static void largest(const StageInfo& stage, Plan& plan, std::size_t at_most, Use&& use) {
    std::size_t seen = 0;
    for (auto entry = plan.by_size.begin(); entry != plan.by_size.end() && seen < at_most;) {
      if (!may_run(stage, entry->second)) {
        entry = is_over(stage, entry->second) ? plan.by_size.erase(entry) : std::next(entry);
        continue;
      }
      if (use(entry->second)) return;
      ++entry, ++seen;
    }
  }

  static bool fits_on(const ClusterView& view, const StageInfo& stage, NodeId id) {
    const NodeInfo* node = view.node(id);
    return node != nullptr && node->usable() && fits(stage.demand, node->used, node->capacity);
  }

  static std::optional<std::uint32_t> nowhere_nearer(const ClusterView& view, const StageInfo& stage, Plan& plan,
                                                     const NodeInfo& node) {
    std::optional<std::uint32_t> chosen;
    largest(stage, plan, kLargestSeen, [&](std::uint32_t task) {
      if (nearest_with_room(view, stage, plan.reduces[task], node)) chosen = task;
      return chosen.has_value();
    });
    return chosen;
  }

  /// Whether no free node that the reduce fits is nearer to its input: no source, and no other node of a rack with sources.
  static bool nearest_with_room(const ClusterView& view, const StageInfo& stage, const Reduce& reduce, const NodeInfo& node) {
    const Gravity& gravity = reduce.gravity;
    const double here = gravity.wtnd(view, node.id) - 1e-9 * gravity.total();
    const auto open = [&](NodeId other) { return fits_on(view, stage, other); };
    if (view.free_nodes().size() < reduce.nearest.size())
      return std::ranges::none_of(view.free_nodes(), [&](NodeId other) { return gravity.wtnd(view, other) < here && open(other); });
    for (const Gravity::Near& source : reduce.nearest) {
      if (source.wtnd >= here) break;
      if (open(source.node)) return false;
    }
    return std::ranges::none_of(gravity.racks(), [&](const auto& entry) {
      const RackInfo* rack = gravity.wtnd(entry.first) < here ? view.rack(entry.first) : nullptr;
      return rack != nullptr && std::ranges::any_of(rack->free_nodes, open);
    });
  }

  static std::optional<std::uint32_t> relatively_nearest(const ClusterView& view, const StageInfo& stage, Plan& plan,
                                                         const NodeInfo& node) {
    std::optional<std::pair<double, std::uint32_t>> best;
    largest(stage, plan, plan.by_size.size(), [&](std::uint32_t task) {
      const Gravity& gravity = plan.reduces[task].gravity;
      const std::pair entry{gravity.total() > 0 ? gravity.wtnd(view, node.id) / gravity.total() : 0, task};
      if (!best || entry < *best) best = entry;
      return false;
    });
    if (!best) return std::nullopt;
    return best->second;
  }

  /// Tasks that failed elsewhere do not wait.
  static std::optional<std::uint32_t> avoiding(const StageInfo& stage, const NodeInfo& node) {
    if (stage.pending.avoiding().empty()) return std::nullopt;
    const auto task = stage.pending.pick(node.id, node.host, node.rack, Locality::any);
    if (!task || stage.pending.unconstrained().contains(*task)) return std::nullopt;
    return task;
  }

  Time wait_;
  bool weighted_;
  std::map<Key, Plan> plans_;
};

}  // namespace

Result<Composition> make_cogrs(Options& options, const Registry& registry) {
  WEFT_ASSIGN(const std::string inner, options.text("inner", "fifo"));
  WEFT_ASSIGN(Composition parts, registry.compose(inner, options.reader()));
  if (parts.placement) return fail(Code::invalid_argument, "scheduler option inner places reduces itself");
  WEFT_ASSIGN(const Time wait, options.duration("wait", std::chrono::seconds(3)));
  WEFT_ASSIGN(const bool weighted, options.choice<bool>("metric", {{"wtnd", true}, {"tnd", false}}, "wtnd"));
  parts.placement = std::make_unique<Cogrs>(wait, weighted);
  parts.preplaces = false;  // reduces are placed when the places of their input are known
  return parts;
}

}  // namespace weft::schedulers

#include "schedulers/policies/fifo.hpp"

#include <array>

namespace weft::sched {

namespace {

constexpr std::array kReasons = {std::string_view("fifo: input on this node"), std::string_view("fifo: input in this rack"),
                                 std::string_view("fifo: next in order")};

class Fifo final : public Scheduler {
 public:
  std::string_view name() const override { return "fifo"; }

  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    if (view.runnable_jobs().empty() || view.free_nodes().empty()) return;
    nodes_.clear();
    if (trigger.kind == Trigger::Kind::node) {
      if (view.free_nodes().contains(trigger.node)) nodes_.push_back(trigger.node);
    } else {
      nodes_.assign(view.free_nodes().begin(), view.free_nodes().end());
    }
    const std::set<JobOrder>& order = view.runnable_jobs();
    std::optional<JobOrder> last;
    while (!nodes_.empty()) {  // a launch may take the job out of the index: look up the next one by its order
      auto next = last ? order.upper_bound(*last) : order.begin();
      if (next == order.end()) return;
      last = *next;
      serve(view, *view.job(next->id), decisions);
    }
  }

 private:
  /// Gives the job as many of nodes_ as it can use.
  void serve(const ClusterView& view, const JobInfo& job, Decisions& decisions) {
    std::optional<StageId> last;
    while (!nodes_.empty()) {
      auto next = last ? job.runnable.upper_bound(*last) : job.runnable.begin();
      if (next == job.runnable.end()) return;
      last = *next;
      const StageInfo& stage = *job.stage(*next);
      for (Locality locality : {Locality::node, Locality::rack, Locality::any}) spread(view, job, stage, locality, decisions);
      if (!stage.pending.empty()) decisions.hold(job.id, stage.id, "no free node has room for its tasks");
    }
  }

  /// One task per node and round, so that few tasks use many nodes.
  void spread(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Locality locality, Decisions& decisions) {
    candidates_ = nodes_;
    while (!candidates_.empty() && !stage.pending.empty()) {
      std::size_t kept = 0;
      for (NodeId id : candidates_) {
        if (launch_on(view, job, stage, id, locality, decisions)) candidates_[kept++] = id;
      }
      candidates_.resize(kept);
    }
    std::erase_if(nodes_, [&view](NodeId id) { return !view.free_nodes().contains(id); });
  }

  bool launch_on(const ClusterView& view, const JobInfo& job, const StageInfo& stage, NodeId id, Locality locality,
                 Decisions& decisions) {
    const NodeInfo& node = *view.node(id);
    if (!fits(stage.demand, node.used, node.capacity)) return false;
    const auto task = stage.pending.pick(id, node.host, node.rack, locality);
    if (!task) return false;
    return decisions.launch(TaskId{job.id, stage.id, *task}, id, kReasons[static_cast<std::size_t>(locality)]).has_value();
  }

  std::vector<NodeId> nodes_, candidates_;  // kept for their memory only
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_fifo(Options&) { return std::make_unique<Fifo>(); }

}  // namespace weft::sched

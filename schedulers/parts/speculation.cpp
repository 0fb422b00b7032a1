#include "schedulers/parts/speculation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::schedulers {

namespace {

bool suits(const NodeInfo& node, const StageInfo& stage, const TaskInfo& task) {
  return node.usable() && !node.slow && node.id != task.node && node.id != task.avoid &&
         fits(stage.demand, node.used, node.capacity);
}

Locality nearness(const ClusterView& view, const NodeInfo& node, std::span<const HostId> hosts) {
  Locality best = Locality::any;
  for (HostId host : hosts) {
    if (host == node.host) return Locality::node;
    if (view.rack_of(host) == node.rack) best = Locality::rack;
  }
  return best;
}

std::optional<NodeId> best_node(const ClusterView& view, const std::vector<NodeId>& nodes, const StageInfo& stage,
                                std::uint32_t index) {
  std::optional<NodeId> best;
  std::pair<Locality, double> least;
  for (NodeId id : nodes) {
    const NodeInfo& node = *view.node(id);
    if (!suits(node, stage, stage.tasks[index])) continue;
    const std::pair rank(nearness(view, node, stage.pending.hosts(index)), node.used.cpu / node.capacity.cpu);
    if (best && !(rank < least)) continue;
    best = id;
    least = rank;
  }
  return best;
}

}  // namespace

void place_speculative_attempts(const ClusterView& view, const Trigger& trigger, Decisions& decisions, const MayHaveMore& may) {
  std::vector<NodeId> nodes;
  if (trigger.kind != Trigger::Kind::node) {
    nodes.assign(view.free_nodes().begin(), view.free_nodes().end());
  } else if (view.free_nodes().contains(trigger.node)) {
    nodes.push_back(trigger.node);
  }
  if (nodes.empty()) return;
  for (const TaskId& task : std::vector<TaskId>(view.stragglers().begin(), view.stragglers().end())) {
    const JobInfo& job = *view.job(task.job);
    const StageInfo& stage = *job.stage(task.stage);
    if (!stage.ready || (may && !may(job, stage))) continue;
    const auto node = best_node(view, nodes, stage, task.index);
    if (node) (void)decisions.launch(task, *node, "speculative attempt: the first takes much longer than others of its stage");
  }
}

void Scheduler::speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  place_speculative_attempts(view, trigger, decisions);
}

}  // namespace weft::schedulers

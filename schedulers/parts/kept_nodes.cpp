#include "schedulers/parts/kept_nodes.hpp"

namespace weft::schedulers {

namespace {

/// The largest part of the node's capacity that it would have given away with a task of this demand: 1 when it just fits.
double filled(const NodeInfo& node, const Resources& demand) {
  double most = 0;
  for (const auto& kind : kResourceKinds) {
    if (demand.*kind.amount > 0 && accounted(kind, node.capacity))
      most = std::max(most, (node.used.*kind.amount + demand.*kind.amount) / node.capacity.*kind.amount);
  }
  return most;
}

}  // namespace

void KeptNodes::on_event(const Notice& notice) {
  if (notice.kind != Notice::Kind::task_launched) return;
  const auto kept = kept_.find(notice.node);
  if (kept != kept_.end() && kept->second.job == notice.job && kept->second.stage == notice.stage) kept_.erase(kept);
}

const StageInfo* KeptNodes::pending_stage(const ClusterView& view, const Task& task) {
  const JobInfo* const job = view.job(task.job);
  return job != nullptr && job->runnable.contains(task.stage) ? job->stage(task.stage) : nullptr;
}

bool KeptNodes::has_node(JobId job) const {
  return std::ranges::any_of(kept_, [job](const auto& kept) { return kept.second.job == job; });
}

void KeptNodes::keep_for(const ClusterView& view, const JobInfo& job, std::vector<Resources>& fitting) {
  for (const StageId id : job.runnable) {
    const Resources& demand = job.stage(id)->demand;
    if (std::ranges::find(fitting, demand) != fitting.end()) continue;
    if (fits_somewhere(view, job.id, demand)) {
      fitting.push_back(demand);
    } else if (const auto node = node_for(view, demand)) {
      kept_.emplace(*node, Task{job.id, id});
      return;
    }
  }
}

bool KeptNodes::fits_somewhere(const ClusterView& view, JobId job, const Resources& demand) const {
  return std::ranges::any_of(view.free_nodes(), [&](NodeId id) {
    const NodeInfo& node = *view.node(id);
    return !keeps_from(id, job) && fits(demand, node.used, node.capacity);
  });
}

std::optional<NodeId> KeptNodes::node_for(const ClusterView& view, const Resources& demand) const {
  std::optional<NodeId> best;
  double least = 0;
  for (const auto& [id, node] : view.nodes()) {
    if (!node.usable() || kept_.contains(id) || !fits(demand, {}, node.capacity)) continue;
    const double part = filled(node, demand);
    if (best && part >= least) continue;
    best = id;
    least = part;
  }
  return best;
}

}  // namespace weft::schedulers

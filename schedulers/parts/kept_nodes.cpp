#include "schedulers/parts/kept_nodes.hpp"

#include <algorithm>
#include <iterator>

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
  if (notice.kind == Notice::Kind::job_ended)
    given_up_.erase(given_up_.lower_bound({notice.job, StageId(0)}), given_up_.upper_bound({notice.job, StageId(UINT32_MAX)}));
  if (notice.kind != Notice::Kind::task_launched) return;
  const auto kept = kept_.find(notice.node);
  if (kept != kept_.end() && kept->second.job == notice.job && kept->second.stage == notice.stage) kept_.erase(kept);
}

void KeptNodes::update(const ClusterView& view, const std::function<bool(const JobInfo&)>& overdue, Decisions& decisions) {
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const JobInfo* const job = view.job(kept->second.job);
    const bool stays = job != nullptr && overdue(*job) && still_kept(view, kept->first, kept->second, decisions);
    kept = stays ? std::next(kept) : kept_.erase(kept);
  }
  if (looked_ && view.now() - *looked_ < kLook) return;
  looked_ = view.now();
  const std::size_t most = std::max<std::size_t>(1, view.nodes().size() / kPart);
  std::vector<Resources> fitting;
  for (const JobOrder& order : view.runnable_jobs()) {
    if (kept_.size() >= most) return;
    const JobInfo& job = *view.job(order.id);
    if (!has_node(job.id) && overdue(job)) keep_for(view, job, fitting);
  }
}

bool KeptNodes::still_kept(const ClusterView& view, NodeId id, Task& task, Decisions& decisions) {
  const JobInfo& job = *view.job(task.job);
  const NodeInfo* const node = view.node(id);
  if (!job.runnable.contains(task.stage) || node == nullptr || !node->usable()) return false;
  const Resources& demand = job.stage(task.stage)->demand;
  if (!fits(demand, {}, node->capacity)) return false;
  if (!fits(demand, node->used, node->capacity)) {
    task.room_since.reset();
    return true;
  }
  if (!task.room_since) task.room_since = view.now();
  if (view.now() - *task.room_since < kLongestRoom) {
    decisions.wake_at(*task.room_since + kLongestRoom);
    return true;
  }
  given_up_.emplace(task.job, task.stage);
  return false;
}

bool KeptNodes::has_node(JobId job) const {
  return std::ranges::any_of(kept_, [job](const auto& kept) { return kept.second.job == job; });
}

void KeptNodes::keep_for(const ClusterView& view, const JobInfo& job, std::vector<Resources>& fitting) {
  for (const StageId id : job.runnable) {
    const StageInfo& stage = *job.stage(id);
    if (given_up_.contains({job.id, id}) || std::ranges::find(fitting, stage.demand) != fitting.end()) continue;
    if (fits_somewhere(view, job.id, stage.demand)) {
      fitting.push_back(stage.demand);
    } else if (const auto node = node_for(view, stage)) {
      kept_.emplace(*node, Task{job.id, id, {}});
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

std::optional<NodeId> KeptNodes::node_for(const ClusterView& view, const StageInfo& stage) const {
  std::optional<NodeId> best;
  double least = 0;
  for (const auto& [id, node] : view.nodes()) {
    if (!node.usable() || kept_.contains(id) || !fits(stage.demand, {}, node.capacity)) continue;
    if (!stage.pending.pick(id, node.host, node.rack)) continue;  // all have failed there
    const double part = filled(node, stage.demand);
    if (best && part >= least) continue;
    best = id;
    least = part;
  }
  return best;
}

}  // namespace weft::schedulers

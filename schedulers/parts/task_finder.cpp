#include "schedulers/parts/task_finder.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedulers/parts/task_choice.hpp"

namespace weft::schedulers {

namespace {

constexpr std::array kNearestFirst{Locality::node, Locality::rack, Locality::any};

}  // namespace

TaskFinder::TaskFinder(const std::string& name, const Composition& parts, DispatchCall& call)
    : parts_(parts),
      call_(call),
      reasons_{fmt::format("{}: input on this node", name), fmt::format("{}: input in this rack", name),
               fmt::format("{}: input elsewhere", name), fmt::format("{}: next in order", name)} {}

void TaskFinder::on_event(const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::job_ended) reservations_.ended(notice.job);
  if (notice.kind == Kind::job_ended || notice.kind == Kind::job_changed) least_demands_.erase(notice.job);
}

void TaskFinder::begin_call() {
  granted_.clear();
  search_.clear();
}

void TaskFinder::begin_round(bool first) {
  if (!first) search_.clear();
  reservations_.begin_round(first);
}

bool TaskFinder::placed_by_part(const JobInfo& job, const StageInfo& stage) const {
  return parts_.placement && parts_.placement->places(*call_.view, job, stage);
}

Locality TaskFinder::allowed(const JobInfo& job, const StageInfo& stage) const {
  const bool waits = parts_.locality_wait && !placed_by_part(job, stage);
  return std::min(call_.farthest, waits ? parts_.locality_wait->allowed(*call_.view, job) : Locality::any);
}

bool TaskFinder::fits_nowhere(const Resources& demand) const {
  return call_.node != nullptr ? !fits(demand, call_.node->used, call_.node->capacity) : search_.fits_nowhere(demand);
}

/// Most jobs are passed over by one look at this.
const Resources& TaskFinder::least_demand(const JobInfo& job) {
  const auto [found, added] = least_demands_.try_emplace(job.id);
  Resources& least = found->second;
  if (!added) return least;
  least = job.stage(*job.runnable.begin())->demand;
  for (StageId id : job.runnable) {
    const Resources& demand = job.stage(id)->demand;
    for (const auto& kind : kResourceKinds) least.*kind.amount = std::min(least.*kind.amount, demand.*kind.amount);
  }
  return least;
}

bool TaskFinder::may_fit(const JobInfo& job) {
  if (call_.node != nullptr) {
    if (fits_nowhere(least_demand(job))) return false;
    if (job.runnable.size() == 1 && !call_.typed) return true;  // the least demand is that of its stage
  }
  return std::any_of(job.runnable.begin(), job.runnable.end(), [&](StageId id) {
    const StageInfo& stage = *job.stage(id);
    return call_.takes(stage) && !fits_nowhere(stage.demand);
  });
}

bool TaskFinder::launch_nearest(const JobInfo& job, const StageInfo& stage, Locality farthest) {
  if (fits_nowhere(stage.demand)) return false;
  if (call_.node == nullptr) {
    const Finds finds = placed_by_part(job, stage) ? Finds::placed : parts_.locality_wait ? Finds::waiting : Finds::near;
    return search_.launch(*call_.view, call_.nodes, job, stage, farthest, finds, *this);
  }
  bool fitted = false;
  return std::any_of(kNearestFirst.begin(), kNearestFirst.end(),
                     [&](Locality level) { return level <= farthest && launch_on(job, stage, call_.node->id, level, fitted); });
}

bool TaskFinder::launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& fitted) {
  const NodeInfo& node = *call_.view->node(id);
  if (!fits(stage.demand, node.used, node.capacity)) return false;
  fitted = true;
  if (call_.kept.keeps_from(id, job.id) || at_limit(id, stage, level)) return false;
  const auto task = task_for(job, stage, node, level);
  if (!task) return false;
  const bool has_input = !stage.pending.hosts(*task).empty();
  return launch(job, stage, {*task, level}, id, reasons_[has_input ? static_cast<std::size_t>(level) : reasons_.size() - 1]);
}

std::optional<Pick> TaskFinder::candidate(const JobInfo& job, const StageInfo& stage, Locality farthest) {
  for (const Locality level : kNearestFirst) {
    if (level > farthest || at_limit(call_.node->id, stage, level)) break;
    if (const auto task = task_for(job, stage, *call_.node, level)) return Pick{*task, level};
  }
  return std::nullopt;
}

bool TaskFinder::at_limit(NodeId node, const StageInfo& stage, Locality level) const {
  const std::uint32_t most = stage.reads_shuffle ? parts_.reduces_per_call : parts_.remote_per_call;
  if (most == 0) return false;
  const auto granted = granted_.find(node);
  if (granted == granted_.end()) return false;
  if (stage.reads_shuffle) return granted->second.reduces >= most;
  return level == Locality::any && stage.pending.placed() && granted->second.remote >= most;
}

std::optional<std::uint32_t> TaskFinder::task_for(const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                                                  Locality level) {
  const ClusterView& view = *call_.view;
  if (placed_by_part(job, stage)) return level == Locality::any ? parts_.placement->choose(view, job, stage, node) : std::nullopt;
  const auto task = choose_near(stage, node, level, parts_.locality_wait != nullptr);
  if (!task || (parts_.urgency != nullptr && parts_.urgency->urgent(view, job))) return task;
  return reservations_.keeps(view, job, stage, *task, node, *call_.decisions) ? std::nullopt : task;
}

bool TaskFinder::launch(const JobInfo& job, const StageInfo& stage, const Pick& pick, NodeId node, std::string_view reason) {
  const bool has_input = !stage.pending.hosts(pick.task).empty(), reserved = stage.tasks[pick.task].preplaced.has_value();
  const bool reads_shuffle = stage.reads_shuffle;
  reservations_.launched(job.id, stage, pick.task, node);
  if (!call_.decisions->launch(TaskId{job.id, stage.id, pick.task}, node, reason)) return false;
  if (reads_shuffle && parts_.reduces_per_call > 0) ++granted_[node].reduces;
  if (has_input && pick.locality == Locality::any && parts_.remote_per_call > 0) ++granted_[node].remote;
  if (parts_.locality_wait && (has_input || reserved)) parts_.locality_wait->launched(*call_.view, job, pick.locality);
  if (!call_.view->free_nodes().contains(node)) {
    --call_.open;
    call_.nodes.filled(node);
  }
  return true;
}

}  // namespace weft::schedulers

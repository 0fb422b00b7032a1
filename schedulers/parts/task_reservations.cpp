#include "schedulers/parts/task_reservations.hpp"

#include <algorithm>
#include <cmath>

#include "schedulers/parts/preplacement.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

/// The node's rack, where there are others and the rate of its uplink is known.
const RackInfo* rack_behind_uplink(const ClusterView& view, const NodeInfo& node) {
  const RackInfo* rack = view.rack(node.rack);
  return rack != nullptr && rack->uplink.down > 0 && view.racks().size() > 1 ? rack : nullptr;
}

/// How long a task of the stage needs to fetch the input that lies in other racks over its node's part of the rack's uplink; 0: not
/// known. `there`: the parts of its input by rack.
Time time_to_fetch(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                   const RackParts& there) {
  const RackInfo* rack = rack_behind_uplink(view, node);
  if (rack == nullptr) return Time(0);
  double far = 1;
  for (const auto& [id, part] : there) far -= id == node.rack ? part : 0;
  const double rate = rack->uplink.down / static_cast<double>(std::max<std::size_t>(1, rack->nodes.size()));
  const double longest = std::chrono::duration<double>(TaskReservations::kLongestKept).count();
  const double seconds = std::min(longest, std::max(0.0, far) * mean_shuffle_input(job, stage) / rate);
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds));
}

/// How long a task stays reserved while other jobs use the free capacity.
Time longest_kept(const StageInfo& stage, Time to_fetch) {
  const Estimate<Time> each = task_duration(stage);
  if (each.source == EstimateSource::assumed || to_fetch > each.value / 2) return TaskReservations::kLongestKept;
  return std::min(TaskReservations::kLongestKept, each.value / 2);
}

/// Whether the node is known to need longer than `longest` until it has launched all tasks of the stage that were placed there.
bool busy_for_longer(const ClusterView& view, const StageInfo& stage, NodeId id, Time longest) {
  const NodeInfo* node = view.node(id);
  const auto placed = stage.preplaced.find(id);
  const Estimate<Time> each = task_duration(stage);
  if (node == nullptr || placed == stage.preplaced.end()) return true;
  if (each.source == EstimateSource::assumed) return false;
  const double rounds =
      std::ceil(static_cast<double>(placed->second.size()) / std::max(1.0, slots_of(node->capacity, stage.demand)));
  return rounds * static_cast<double>(each.value.count()) > static_cast<double>(longest.count());
}

}  // namespace

bool TaskReservations::keeps(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task,
                             const NodeInfo& node, Decisions& decisions) {
  const MaybeNode reserved = stage.tasks[task].preplaced;
  if (!reserved || reserved == node.id) return false;
  const bool uplinks = rack_behind_uplink(view, node) != nullptr;
  if (!first_ && !uplinks) return false;
  Waits& waits = first_ ? busy_ : idle_;
  const auto found = waits.find({job.id, stage.id});
  Wait begins{view.now(), {}};
  if (found == waits.end() && uplinks) begins.there = shuffle_by_rack(view, job, stage);
  const Wait& wait = found == waits.end() ? begins : found->second;
  const Time to_fetch = time_to_fetch(view, job, stage, node, wait.there);
  const Time longest = first_ ? longest_kept(stage, to_fetch) : to_fetch, until = wait.since + longest;
  if (view.now() >= until || (!first_ && busy_for_longer(view, stage, *reserved, longest))) return false;
  if (found == waits.end()) waits.emplace(std::pair(job.id, stage.id), std::move(begins));
  kept_ = true;
  if (!first_) decisions.wake_at(until);
  return true;
}

void TaskReservations::launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node) {
  for (Waits* waits : {&busy_, &idle_}) {
    if (!waits->empty() && stage.tasks[task].preplaced == node) waits->erase({job, stage.id});
  }
}

void TaskReservations::ended(JobId job) {
  for (Waits* waits : {&busy_, &idle_}) erase_job(*waits, job);
}

}  // namespace weft::schedulers

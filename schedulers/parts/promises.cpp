#include "schedulers/parts/promises.hpp"

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

/// How long a task of the stage needs to fetch what it reads over its node's part of the rack's uplink; 0 where that is not known.
Time time_to_fetch(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node) {
  const RackInfo* rack = rack_behind_uplink(view, node);
  if (rack == nullptr) return Time(0);
  const double rate = rack->uplink.down / static_cast<double>(std::max<std::size_t>(1, rack->nodes.size()));
  const double longest = std::chrono::duration<double>(Promises::kLongestKept).count();
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(std::min(longest, mean_shuffle_input(job, stage) / rate)));
}

/// While other jobs use the room. What a task fetches is part of what it takes; over an uplink others of its rack fetch, too.
Time longest_kept(const ClusterView& view, const StageInfo& stage, const NodeInfo& node) {
  const Estimate<Time> each = task_duration(stage);
  if (each.source == EstimateSource::assumed || rack_behind_uplink(view, node) != nullptr) return Promises::kLongestKept;
  return std::min(Promises::kLongestKept, each.value / 2);
}

/// Whether the node is known to need longer than that until it has come to all tasks of the stage that were placed there.
bool busy_for_longer(const ClusterView& view, const StageInfo& stage, NodeId id, Time longest) {
  const NodeInfo* node = view.node(id);
  const auto placed = stage.preplaced.find(id);
  const Estimate<Time> each = task_duration(stage);
  if (node == nullptr || placed == stage.preplaced.end()) return true;
  if (each.source == EstimateSource::assumed) return false;
  const double turns =
      std::ceil(static_cast<double>(placed->second.size()) / std::max(1.0, slots_of(node->capacity, stage.demand)));
  return turns * static_cast<double>(each.value.count()) > static_cast<double>(longest.count());
}

}  // namespace

bool Promises::keeps(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task, const NodeInfo& node,
                     Decisions& decisions) {
  const MaybeNode promised = stage.tasks[task].preplaced;
  if (!promised || promised == node.id) return false;
  const Time longest = first_ ? longest_kept(view, stage, node) : time_to_fetch(view, job, stage, node);
  if (longest == Time(0) || (!first_ && busy_for_longer(view, stage, *promised, longest))) return false;
  const Time since = (first_ ? since_ : idle_since_).try_emplace({job.id, stage.id}, view.now()).first->second;
  if (view.now() - since >= longest) return false;
  kept_ = true;
  if (!first_) decisions.wake_at(since + longest);
  return true;
}

void Promises::launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node) {
  for (Since* since : {&since_, &idle_since_}) {
    if (!since->empty() && stage.tasks[task].preplaced == node) since->erase({job, stage.id});
  }
}

void Promises::ended(JobId job) {
  for (Since* since : {&since_, &idle_since_})
    since->erase(since->lower_bound({job, StageId(0)}), since->lower_bound({JobId(job.value() + 1), StageId(0)}));
}

}  // namespace weft::schedulers

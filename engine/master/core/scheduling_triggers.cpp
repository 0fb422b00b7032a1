#include "engine/master/core/scheduling_triggers.hpp"

#include <algorithm>

namespace weft::master {

void SchedulingTriggers::note_node(NodeId node) {
  if (node_ && *node_ != node) work_ = true;
  node_ = node;
}

std::optional<SchedulingTriggers::Time> SchedulingTriggers::request_step(Time now) {
  if (std::exchange(step_requested_, true)) return std::nullopt;
  const auto every = every_.count();
  return Time((now.count() + every - 1) / every * every);
}

std::vector<schedulers::Trigger> SchedulingTriggers::take() {
  using Kind = schedulers::Trigger::Kind;
  std::vector<schedulers::Trigger> calls;
  const bool work = std::exchange(work_, false);
  const std::optional<NodeId> node = std::exchange(node_, std::nullopt);
  if (std::exchange(timer_, false)) calls.push_back({Kind::timer, {}});
  if (by_heartbeats()) {
    if (heartbeat_) calls.push_back({Kind::node, *heartbeat_});
  } else if (work) {
    calls.push_back({Kind::work, {}});
  } else if (node) {
    calls.push_back({Kind::node, *node});
  }
  return calls;
}

void SchedulingTriggers::answered(NodeId node, std::uint64_t changes_before) {
  if (std::exchange(declined_at_, changes_) != changes_before || changes_ != changes_before) declined_.clear();
  if (changes_ == changes_before) declined_.insert(node);
}

bool SchedulingTriggers::expects_heartbeats(const std::set<NodeId>& free_nodes) const {
  if (!on_heartbeats_) return false;
  const bool all_declined = std::includes(declined_.begin(), declined_.end(), free_nodes.begin(), free_nodes.end());
  return declined_at_ != changes_ || !all_declined;
}

}  // namespace weft::master

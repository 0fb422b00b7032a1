#include "schedulers/parts/capacity_preemption.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

bool has_too_much(const NodeInfo& node) {
  return std::ranges::any_of(kResourceKinds, [&node](const ResourceKind& kind) {
    return accounted(kind, node.nominal) && node.used.*kind.amount > node.capacity.*kind.amount * (1 + 1e-9);
  });
}

std::optional<AttemptId> newest(const ClusterView& view, const NodeInfo& node) {
  std::optional<std::pair<Time, AttemptId>> last;
  for (const AttemptId& attempt : node.running) {
    const auto launched = view.launched(attempt);
    if (launched && (!last || std::pair(*launched, attempt) > *last)) last.emplace(*launched, attempt);
  }
  return last ? std::optional(last->second) : std::nullopt;
}

}  // namespace

Result<void> CapacityPreemption::start(const ClusterView& view, Part*) {
  for (const auto& [id, node] : view.nodes()) changed_.insert(id);
  return {};
}

void CapacityPreemption::on_event(const ClusterView&, const Notice& notice) {
  if (notice.kind == Notice::Kind::node_changed) changed_.insert(notice.node);
}

bool CapacityPreemption::preempt(const ClusterView& view, Decisions& decisions) {
  bool killed = false;
  for (const NodeId id : std::exchange(changed_, {})) {
    for (const NodeInfo* node = view.node(id); node != nullptr && has_too_much(*node); killed = true) {
      const auto victim = newest(view, *node);
      if (!victim || !decisions.preempt(*victim, "its node is given less than what runs there takes")) break;
    }
  }
  return killed;
}

}  // namespace weft::schedulers

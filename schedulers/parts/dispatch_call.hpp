// What the parts of the dispatcher share while schedule() runs.
#pragma once

#include "schedulers/parts/free_nodes.hpp"
#include "schedulers/parts/kept_nodes.hpp"
#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

struct DispatchCall {
  const ClusterView* view = nullptr;
  Decisions* decisions = nullptr;
  KeptNodes kept;
  FreeNodes nodes;                    // that are offered
  std::size_t open = 0;               // how many of these still have free capacity
  const NodeInfo* node = nullptr;     // the only one that is offered; null: several are
  bool one = false;                   // nodes ask in turns, and launch one task in each
  Locality farthest = Locality::any;  // from their input that nodes take tasks now
  bool launched = false;              // a task, on the node that asks, since its turn began
  bool by_node = false;               // it asks
  const Pass* pass = nullptr;
  bool last_pass = true;  // reasons why jobs wait are recorded in that one
  SlotKind kind = SlotKind::any;
  bool typed = false;

  /// Whether a task of the stage takes a slot of the present kind.
  bool takes(const StageInfo& stage) const { return slot_kind_of(stage, typed) == kind; }
};

/// Whether some node is better than others for tasks of the stage: it holds their input, or they were placed there.
inline bool prefers_nodes(const StageInfo& stage) { return stage.pending.placed() || !stage.preplaced.empty(); }

}  // namespace weft::schedulers

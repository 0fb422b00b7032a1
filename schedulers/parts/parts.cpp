#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

std::vector<SlotKind> slot_kinds(const ClusterView& view) {
  if (view.capacity().map_slots > 0 || view.capacity().reduce_slots > 0) return {SlotKind::map, SlotKind::reduce};
  return {SlotKind::any};
}

SlotKind slot_kind_of(const StageInfo& stage, bool typed) {
  if (!typed) return SlotKind::any;
  return stage.reads_shuffle ? SlotKind::reduce : SlotKind::map;
}

double amount_of(const Resources& resources, SlotKind kind) {
  switch (kind) {
    case SlotKind::map:
      return resources.map_slots;
    case SlotKind::reduce:
      return resources.reduce_slots;
    case SlotKind::any:
      break;
  }
  return resources.cpu;
}

}  // namespace weft::schedulers

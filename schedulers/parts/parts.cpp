#include "schedulers/parts/parts.hpp"

#include <array>

namespace weft::schedulers {

std::span<const SlotKind> slot_kinds(const ClusterView& view) {
  static constexpr std::array kTyped{SlotKind::map, SlotKind::reduce};
  static constexpr std::array kOne{SlotKind::any};
  if (view.capacity().map_slots > 0 || view.capacity().reduce_slots > 0) return kTyped;
  return kOne;
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

#include "engine/simulator/attempts.hpp"

#include <algorithm>
#include <utility>

namespace weft::simulator {

Attempt* Attempts::find(Slot slot, std::uint32_t generation) {
  Attempt& attempt = slots_[slot];
  return attempt.active && attempt.generation == generation ? &attempt : nullptr;
}

std::optional<Slot> Attempts::slot_of(const AttemptId& id, std::uint32_t machine) const {
  const auto& there = world_.machines[machine].attempts;
  const auto found = std::find_if(there.begin(), there.end(), [&](Slot slot) { return slots_[slot].id == id; });
  return found == there.end() ? std::nullopt : std::optional(*found);
}

Slot Attempts::add(const master::LaunchTask& command) {
  const Slot slot = take_place(slots_, free_);
  const std::uint32_t machine = world_.machine_of_node[command.node.value()];
  std::vector<Slot>& there = world_.machines[machine].attempts;
  slots_[slot] = Attempt{.id = command.attempt,
                         .machine = machine,
                         .place = static_cast<std::uint32_t>(there.size()),
                         .generation = slots_[slot].generation,
                         .active = true,
                         .speculative = command.speculative,
                         .device = command.device,
                         .launched = world_.now};
  there.push_back(slot);
  ++running_;
  world_.last_progress = world_.now;
  return slot;
}

void Attempts::remove(Slot slot) {
  Attempt& attempt = slots_[slot];
  auto& there = world_.machines[attempt.machine].attempts;
  there[attempt.place] = there.back();
  slots_[there.back()].place = attempt.place;
  there.pop_back();
  attempt.active = false;
  attempt.fetch.reset();
  ++attempt.generation;
  free_.push_back(slot);
  --running_;
  world_.last_progress = world_.now;
}

Attempt* Attempts::other_of(Slot slot) {
  if (speculating_.empty()) return nullptr;
  const auto found = speculating_.find(slots_[slot].id.task);
  if (found == speculating_.end()) return nullptr;
  const auto [first, second] = found->second;
  if (first != slot && second != slot) return nullptr;
  return &slots_[first == slot ? second : first];
}

bool Attempts::start_move(Slot slot, Move move, std::int64_t round_trips) {
  Attempt& attempt = slots_[slot];
  attempt.move = std::move(move);
  if (attempt.move.bytes <= 0) return false;
  if (!world_.flows()) {
    transfers_.count(world_.index_of(attempt), attempt.move, 1);
    return false;
  }
  const Time before = attempt.move.traffic.cross_rack > 0 ? round_trips * world_.model.network.round_trip : Time(0);
  if (before == Time(0)) {
    start_flow(slot);
  } else {
    world_.agenda.add(world_.now + before, {What::moving, slot, attempt.generation, ++attempt.turn});
  }
  return true;
}

void Attempts::moving(Slot slot, std::uint32_t generation, std::uint64_t turn) {
  const Attempt* attempt = find(slot, generation);
  if (attempt != nullptr && attempt->turn == turn) start_flow(slot);
}

void Attempts::start_flow(Slot slot) {
  Attempt& attempt = slots_[slot];
  attempt.flow = world_.network.start(world_.now, attempt.move.bytes, std::exchange(attempt.move.uses, {}));
  if (flow_owner_.size() <= *attempt.flow) flow_owner_.resize(*attempt.flow + 1);
  flow_owner_[*attempt.flow] = slot;
}

void Attempts::break_move(Slot slot) {
  Attempt& attempt = slots_[slot];
  ++attempt.turn;  // it may not have begun
  if (!attempt.flow) return;
  const double bytes = world_.network.stop(world_.now, *attempt.flow);
  attempt.flow.reset();
  const double part = std::min(1.0, bytes / attempt.move.bytes);
  transfers_.count(world_.index_of(attempt), attempt.move, part);
  if (attempt.fetch) attempt.fetch->left *= 1 - part;
}

Slot Attempts::flow_ended(FlowNetwork::Flow flow) {
  const Slot slot = flow_owner_[flow];
  slots_[slot].flow.reset();
  return slot;
}

}  // namespace weft::simulator

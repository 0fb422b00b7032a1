// The table of running attempts, the tasks of which two run (speculating), and the bytes that attempts move.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/simulator/free_places.hpp"
#include "engine/simulator/transfers.hpp"

namespace weft::simulator {

class Attempts {
 public:
  Attempts(World& world, Transfers& transfers) : world_(world), transfers_(transfers) {}

  Attempt& operator[](Slot slot) { return slots_[slot]; }
  Slot count() const { return static_cast<Slot>(slots_.size()); }  // of slots, used or not
  std::uint64_t running() const { return running_; }
  /// Null when the attempt of that generation has ended.
  Attempt* find(Slot slot, std::uint32_t generation);
  std::optional<Slot> slot_of(const AttemptId& id, std::uint32_t machine) const;

  Slot add(const master::LaunchTask& command);
  void remove(Slot slot);

  /// The task is speculating: both attempts run, until one of them ends.
  void begin_speculating(const TaskId& task, Slot first, Slot second) { speculating_[task] = {first, second}; }
  void end_speculating(const TaskId& task) { speculating_.erase(task); }
  /// The other attempt of its task while that is speculating, else null.
  Attempt* other_of(Slot slot);

  /// False when the move takes no time. Between racks its bytes come after `round_trips`.
  bool start_move(Slot slot, Move move, std::int64_t round_trips = 0);
  /// The round trips of a move are over.
  void moving(Slot slot, std::uint32_t generation, std::uint64_t turn);
  void break_move(Slot slot);
  /// Returns the attempt that the flow belonged to.
  Slot flow_ended(FlowNetwork::Flow flow);

 private:
  void start_flow(Slot slot);

  World& world_;
  Transfers& transfers_;
  std::vector<Attempt> slots_;
  std::vector<Slot> free_;
  std::uint64_t running_ = 0;
  std::map<TaskId, std::pair<Slot, Slot>> speculating_;
  std::vector<Slot> flow_owner_;
};

}  // namespace weft::simulator

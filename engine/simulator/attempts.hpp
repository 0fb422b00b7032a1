// The table of attempts that run, those of them that race, and the bytes they move.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/simulator/transfers.hpp"

namespace weft::simulator {

class Attempts {
 public:
  Attempts(World& world, Transfers& transfers) : world_(world), transfers_(transfers) {}

  Attempt& operator[](Slot slot) { return slots_[slot]; }
  Slot count() const { return static_cast<Slot>(slots_.size()); }  // of slots, used or not
  std::uint64_t running() const { return running_; }
  /// Null when that one has ended.
  Attempt* find(Slot slot, std::uint32_t generation);
  std::optional<Slot> slot_of(const AttemptId& id, std::uint32_t machine) const;

  Slot add(const master::LaunchTask& command);
  void remove(Slot slot);

  /// Both run the same task, until one of them ends.
  void race(const TaskId& task, Slot first, Slot second) { racing_[task] = {first, second}; }
  void end_race(const TaskId& task) { racing_.erase(task); }
  /// The other attempt of its task, when that runs.
  Attempt* other_of(Slot slot);

  /// False when it took no time. Between racks, its bytes come after so many round trips.
  bool start_move(Slot slot, Move move, std::int64_t round_trips = 0);
  /// After its round trips.
  void moving(Slot slot, std::uint32_t generation, std::uint64_t turn);
  void break_move(Slot slot);
  /// Whose it was.
  Slot flow_ended(FlowNetwork::Flow flow);

 private:
  void start_flow(Slot slot);

  World& world_;
  Transfers& transfers_;
  std::vector<Attempt> slots_;
  std::vector<Slot> free_;
  std::uint64_t running_ = 0;
  std::map<TaskId, std::pair<Slot, Slot>> racing_;
  std::vector<Slot> flow_owner_;
};

}  // namespace weft::simulator

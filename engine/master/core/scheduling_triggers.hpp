// When the scheduler is called: what has happened since it was called last, and how CoreOptions paces the calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::master {

class SchedulingTriggers {
 public:
  using Time = schedulers::Time;

  /// `every`: calls happen at multiples of this time only; 0: after each event. `on_heartbeats`, without `every`: only for the node
  /// that a heartbeat came from.
  SchedulingTriggers(Time every, bool on_heartbeats) : every_(every), on_heartbeats_(on_heartbeats) {}

  /// What was noted stays noted until take() returns it; only a heartbeat and a step end with their event.
  void begin_event() {
    heartbeat_.reset();
    step_ = false;
  }
  /// There may be something to launch, or room, on any node.
  void note_work() {
    work_ = true;
    ++changes_;
  }
  /// There may be room on the node. Two different nodes are work.
  void note_node(NodeId node);
  void note_heartbeat(NodeId node) {
    heartbeat_ = node;
    note_node(node);
  }
  /// The time the scheduler asked for has come.
  void note_timer() { timer_ = true; }
  /// The time that step_due() gave has come.
  void note_step() {
    step_ = true;
    step_requested_ = false;
  }
  /// Something changed that a scheduler could make use of, without a reason to call it at once.
  void note_change() { ++changes_; }

  bool pending() const { return timer_ || work_ || node_.has_value(); }
  /// Calls have to wait for a step. Says so until note_step().
  bool waits_for_step() const { return every_ > Time(0) && !step_; }
  /// The time of the next step, once for each; nothing when it was given before.
  std::optional<Time> request_step(Time now);

  /// The calls that are due, in order: at most one for a timer and one for all else. Nothing is pending afterwards.
  std::vector<schedulers::Trigger> take();

  /// With calls on heartbeats only: brackets the call for a heartbeat's node, to learn which nodes got nothing.
  std::uint64_t changes() const { return changes_; }
  void answered(NodeId node, std::uint64_t changes_before);
  bool by_heartbeats() const { return on_heartbeats_ && every_ == Time(0); }
  /// Whether the scheduler may yet be called for a node with room before anything changes.
  bool expects_heartbeats(const std::set<NodeId>& free_nodes) const;

 private:
  const Time every_;
  const bool on_heartbeats_;
  bool work_ = false, timer_ = false, step_ = false, step_requested_ = false;
  std::optional<NodeId> node_, heartbeat_;
  std::uint64_t changes_ = 0, declined_at_ = 0;  // what a scheduler could make use of: counted, and of the nodes below
  std::set<NodeId> declined_;                    // nodes for which it was called, and launched nothing, since anything changed
};

}  // namespace weft::master

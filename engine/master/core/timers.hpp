// The timers that the core has asked its shell for, and what each is for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "engine/master/core/command_sink.hpp"

namespace weft::master {

class Timers {
 public:
  enum class Purpose : std::uint8_t { heartbeat, exclusion, scheduler, placement, step, stragglers, early_readers, retry };
  struct Timer {
    Purpose purpose;
    Time at;
    NodeId node{};  // of heartbeat and exclusion
    JobId job{};    // of placement
    TaskId task{};  // of retry
  };

  explicit Timers(CommandSink& commands) : commands_(commands) {}

  /// Emits SetTimer under a new id.
  void set(const Timer& timer);
  /// Takes the timer out and returns it when its time has come. Nothing when it fires early: the shell is asked again. not_found
  /// for an id that was never given, has fired or was forgotten.
  Result<std::optional<Timer>> fire(std::uint64_t id, Time now);
  /// The heartbeat and exclusion timers of a node that is gone.
  void forget(NodeId node);
  /// The earliest time for which the scheduler is to be called, when it asked for one.
  std::optional<Time> next_wake() const { return wakes_.empty() ? std::nullopt : std::optional(*wakes_.begin()); }

 private:
  CommandSink& commands_;
  std::map<std::uint64_t, Timer> timers_;
  std::uint64_t next_ = 1;
  std::multiset<Time> wakes_;  // of Purpose::scheduler
};

}  // namespace weft::master

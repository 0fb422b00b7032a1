// What goes into an event log of what happens to a core: which events, which commands, in which order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/master/log/event_log.hpp"
#include "engine/master/log/heartbeat_filter.hpp"

namespace weft::master {

/// One thread, that of the core. before() and then either after() or nothing, event by event.
class EventRecorder {
 public:
  explicit EventRecorder(EventLog log) : log_(std::move(log)) {}

  /// The event that the core is given next, which moves it.
  void before(Time at, const Event& event);
  /// It was accepted, and led to these commands: both have lines, which wait for flush().
  void after(Time at, const std::vector<Command>& commands);
  /// Whether lines wait that are not only of single attempts, or many.
  bool urgent() const { return urgent_ || log_.waiting() >= kManyBytes; }
  /// Writes the lines that wait. The error is of the log's file (EventLog::flush).
  Result<void> flush(Time at);
  /// A node that joined an earlier master, at that time, is there still.
  Result<void> restored(Time now, Time joined, const WorkerJoined& node);
  /// What a worker reports of the blocks that it prefetched for a job, every `period`.
  Result<void> note_prefetched(Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched);

  LogPlace began() const { return log_.began(); }

 private:
  static constexpr std::size_t kManyBytes = 64u << 10;

  EventLog log_;
  HeartbeatFilter heartbeats_;
  std::string line_;         // of the event of before(); empty: the log leaves it out
  bool left_ = false;        // that event says that a worker is lost
  bool of_attempt_ = false;  // it is the end of an attempt
  bool urgent_ = false;      // a line that waits is not of an attempt
};

}  // namespace weft::master

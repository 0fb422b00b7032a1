// What goes into an event log of what happens to a core: which events, which commands, in which order.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/master/log/event_log.hpp"
#include "engine/master/log/heartbeat_filter.hpp"

namespace weft::master {

/// One thread, that of the core, but for write(). before() and then either after() or nothing, event by event.
class EventRecorder {
 public:
  explicit EventRecorder(EventLog log) : log_(std::move(log)) { lines_.reserve(kManyLines); }

  /// The event that the core is given next, which moves it.
  void before(Time at, const Event& event);
  /// It was accepted, and led to these commands: both have lines, which wait to be written.
  void after(Time at, const std::vector<Command>& commands);
  /// Whether lines wait that are not only of single attempts.
  bool urgent() const { return urgent_; }
  bool waits() const { return !lines_.empty(); }
  /// Whether that are many, which should not wait for more.
  bool many() const { return lines_.size() >= kManyLines || bytes_ >= kManyBytes; }
  /// Leaves what waits to write(). False: too much is left to it already.
  bool hand_over();
  /// Writes what was handed over. Any thread. The error is of the log's file (EventLog::flush).
  Result<void> write(Time at);
  /// Writes all that waits, and what was handed over before.
  Result<void> flush(Time at);
  /// A node that joined an earlier master, at that time, is there still.
  Result<void> restored(Time now, Time joined, const WorkerJoined& node);
  /// What a worker reports of the blocks that it prefetched for a job, every `period`.
  Result<void> note_prefetched(Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched);

  LogPlace began() const { return log_.began(); }

 private:
  struct Batch {
    std::vector<EventLine> lines;  // without their text
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kManyLines = 64;
  static constexpr std::size_t kManyBytes = 1u << 20;
  static constexpr std::size_t kMostLines = 1024;       // at once
  static constexpr std::size_t kMostBytes = 16u << 20;  // that are left to write()

  EventLine& next_line();
  void drop_refused();
  void batch_up();
  void make_text();
  void put(EventLine& line);

  HeartbeatFilter heartbeats_;
  std::vector<EventLine> lines_;  // that wait
  std::size_t bytes_ = 0;         // of them, about
  bool open_ = false;             // the last of them is of an event that may be refused
  bool left_ = false;             // that event says that a worker is lost
  bool of_attempt_ = false;       // it is the end of an attempt
  bool urgent_ = false;           // a line that waits is not of an attempt

  std::mutex batches_mutex_;                   // never held while something is written
  std::deque<Batch> batches_;                  // for write()
  std::size_t handed_over_ = 0;                // bytes of them
  std::vector<std::vector<EventLine>> spare_;  // empty, with the memory of earlier ones

  std::mutex log_mutex_;  // held by who writes
  EventLog log_;
};

}  // namespace weft::master

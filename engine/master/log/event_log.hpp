// The event log: accepted events and what came of them, a line of JSON each (docs/formats/journal.md). For people, reports, and
// the simulator.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "engine/master/core/events.hpp"
#include "engine/master/log/log_archive.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::master {

/// A line for an event, as is. Result bytes are given by size only.
std::string event_json(Time at, const Event& event);
/// A line for a worker that the core gave up because nothing was heard of it; others have the event that says so.
std::string silent_json(Time at, const NodeLost& lost);
/// A line for what a worker says of blocks that it prefetched for a job since that began; it says so every `period`.
std::string prefetch_json(Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched);
/// A line for a command that launches, kills or ends something; nothing for the others.
std::optional<std::string> command_json(Time at, const Command& command);

/// A place in the pieces of a log (log_pieces.hpp).
struct LogPlace {
  std::uint32_t piece = 1;   // its number
  std::uint64_t offset = 0;  // in its text
};

/// Appends lines to a file, which is rotated (FILE.000001.zst, …). One thread.
class EventLog {
 public:
  /// Continues the file when it exists, behind its last whole line: what a crash cut off is removed. The first line says that a
  /// master began here. unavailable when another master writes to it.
  static Result<EventLog> open(const std::string& path, Time at, const std::string& scheduler, const LogRotation& rotation = {});

  void add(std::string_view line) { (text_ += line) += '\n'; }
  /// Every later piece begins with this line, so that it can be read without the pieces before: what is known of a worker.
  void repeat(NodeId node, std::string line) { repeated_[node] = std::move(line); }
  void repeat_no_more(NodeId node) { repeated_.erase(node); }
  /// Writes what was added. After an error nothing more is written, and nothing is said again.
  Result<void> flush(Time at);

  /// Where this master's events begin.
  const LogPlace& began() const { return began_; }
  /// Waits until the pieces of before are compressed.
  void settle() { archive_->settle(); }

 private:
  EventLog(std::string path, const LogRotation& rotation) : path_(std::move(path)), rotation_(rotation) {}
  Result<void> open_file();
  /// From now on it is not rotated.
  void keep_whole() {
    rotation_.bytes = 0;
    rotation_.period = Duration(0);
  }
  Result<void> write(std::string_view text);
  Result<void> rotate(Time at);
  std::int64_t period_of(std::chrono::nanoseconds unix_time) const;

  std::string path_;
  LogRotation rotation_;
  Fd file_;
  std::uint64_t size_ = 0;
  std::int64_t period_ = 0;  // of the calendar, in which what is in the file was written
  LogPlace began_;
  std::string text_;
  std::map<NodeId, std::string> repeated_;
  std::unique_ptr<LogArchive> archive_;
};

}  // namespace weft::master

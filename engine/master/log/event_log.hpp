// The event log: accepted events and the commands that they caused, a line of JSON each (docs/formats/journal.md). For people,
// reports, and the simulator.
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

/// A line for an event. It has the size of result bytes, not the bytes.
std::string event_json(Time at, const Event& event);
/// A line for a worker that the core gave up because no heartbeat came; for other losses there is an event.
std::string silent_json(Time at, const NodeLost& lost);
/// A line for a worker's figures of blocks that it prefetched for a job since the job began. It reports them every `period`.
std::string prefetch_json(Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched);
/// A line for a command that starts or ends something of a job or task; nothing for the others.
std::optional<std::string> command_json(Time at, const Command& command);

/// A place in the pieces of a log (log_pieces.hpp).
struct LogPlace {
  std::uint32_t piece = 1;   // its number
  std::uint64_t offset = 0;  // in its text
};

/// Appends lines to a file, which is rotated (FILE.000001.zst, …). One thread.
class EventLog {
 public:
  /// Continues the file when it exists, after its last whole line; a line that a crash cut off is removed. The first line says that
  /// a master began here, or with `continues` that another one went on with what ran. unavailable when another master writes to the
  /// file.
  static Result<EventLog> open(const std::string& path, Time at, const std::string& scheduler, const LogRotation& rotation = {},
                               bool continues = false);

  void add(std::string_view line) { (text_ += line) += '\n'; }
  /// Repeats this line, about a worker, at the beginning of every later piece, so that each piece can be read without the others.
  void repeat(NodeId node, std::string line) { repeated_[node] = std::move(line); }
  void repeat_no_more(NodeId node) { repeated_.erase(node); }
  /// Writes the lines that were added. They are lost when that fails, as on a full disk; an error says so once, and the log goes on
  /// when there is room. When it cannot go on, as with a pipe that nobody reads any more, the error says so, and nothing more is
  /// written.
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
  Result<void> write(Time at);
  Result<void> lose(Error why);
  Result<void> rotate();
  std::string first_lines(Time at) const;
  std::int64_t period_of(std::chrono::nanoseconds unix_time) const;

  std::string path_;
  LogRotation rotation_;
  Fd file_;
  std::uint64_t size_ = 0;
  std::int64_t period_ = 0;  // of the calendar, in which what is in the file was written
  LogPlace began_;
  std::string text_;
  bool continues_ = false;  // the file is new, and begins with first_lines()
  std::uint64_t lost_ = 0;  // lines, since one was last written
  std::map<NodeId, std::string> repeated_;
  std::unique_ptr<LogArchive> archive_;
};

}  // namespace weft::master

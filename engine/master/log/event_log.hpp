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

#include "base/result.hpp"
#include "engine/master/core/events.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/log_file.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::master {

// Each fills in a line that has nothing yet.

/// The line has the size of result bytes, not the bytes.
void describe(EventLine& line, Time at, const Event& event);
/// Whether it starts or ends something of a job or task: others have no line.
bool has_line(const Command& command);
void describe(EventLine& line, Time at, const Command& command);
/// Of a worker that the core gave up because no heartbeat came; for other losses there is an event.
void describe_silent(EventLine& line, Time at, const NodeLost& lost);
/// Of a worker's figures of blocks that it prefetched for a job since the job began. It reports them every `period`.
void describe_prefetched(EventLine& line, Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched);

/// The line of an event as JSON.
std::string event_json(Time at, const Event& event);
/// That of a command; nothing for those that have none.
std::optional<std::string> command_json(Time at, const Command& command);

/// A place in the pieces of a log (log_pieces.hpp).
struct LogPlace {
  std::uint32_t piece = 1;   // its number
  std::uint64_t offset = 0;  // in its text
};

/// Appends lines to a file, which is rotated (FILE.000001.zst, …). One thread at a time.
class EventLog {
 public:
  /// Continues the file when it exists, after its last whole line; a line that a crash cut off is removed. The first line says that
  /// a master began here, or with `continues` that another one went on with what ran; on a full disk it is written when there is
  /// room, and a warning says so. unavailable when another master writes to the file.
  static Result<EventLog> open(const std::string& path, Time at, const std::string& scheduler, const LogRotation& rotation = {},
                               bool continues = false);

  void add(std::string_view line) { (text_ += line) += '\n'; }
  /// Repeats this line, about a worker, at the beginning of every later piece, so that each piece can be read without the others.
  void repeat(NodeId node, std::string line) { repeated_[node] = std::move(line); }
  void repeat_no_more(NodeId node) { repeated_.erase(node); }
  /// Repeats the scheduler's configuration there, too, with the time at which the piece begins.
  void repeat(const EventLine& configured) { configured_ = configured; }
  /// Writes the lines that were added. Errors: LogFile::append().
  Result<void> flush(Time at);

  /// Where this master's events begin.
  const LogPlace& began() const { return began_; }
  /// Waits until the pieces of before are compressed.
  void settle() { file_.settle(); }

 private:
  EventLog(LogFile file, LogPlace began) : file_(std::move(file)), began_(began) {}
  std::string first_lines(Time at) const;

  LogFile file_;
  LogPlace began_;
  std::string text_;
  std::string begin_;  // the first line, until it is written
  std::map<NodeId, std::string> repeated_;
  std::optional<EventLine> configured_;
};

}  // namespace weft::master

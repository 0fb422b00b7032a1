// The event log: accepted events and what came of them, a line of JSON each (docs/formats/journal.md). For people, reports, and
// the simulator.
#pragma once

#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "engine/master/events.hpp"

namespace weft::master {

/// A line for an event, as is. Result bytes are given by size only.
std::string event_json(Time at, const Event& event);
/// A line for a command that tells what became of a job or task; nothing for the others.
std::optional<std::string> command_json(Time at, const Command& command);

/// Appends lines to a file. One thread.
class EventLog {
 public:
  /// Continues the file when it exists. The first line says that a master began here.
  static Result<EventLog> open(const std::string& path, Time at, const std::string& scheduler);

  void add(std::string_view line) { (text_ += line) += '\n'; }
  /// Writes what was added. After an error nothing more is written, and nothing is said again.
  Result<void> flush();

 private:
  EventLog(Fd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  Fd file_;
  std::string path_;
  std::string text_;
};

}  // namespace weft::master

// The current line of a file as a line of an event log.
#pragma once

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

using LoggedEvent = master::EventLine;
using master::LoggedSplit;
using master::LoggedStage;

/// Members that the line does not have keep their defaults; those that nobody knows are skipped. An error names file and line.
inline Result<LoggedEvent> parse_event(const Lines& lines) {
  JsonReader json(lines.line(), lines.path(), lines.number());
  return master::parse_event_line(json);
}

}  // namespace weft::simulator::workloads

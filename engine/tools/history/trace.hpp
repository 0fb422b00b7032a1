// A job as a trace in the JSON that Perfetto and Chrome open: nodes as processes, slots as threads, attempts as slices with their
// reading and writing inside, replicas of map outputs, and flows from the maps to their readers.
#pragma once

#include <string>

#include "engine/tools/history/history.hpp"

namespace weft::history {

/// Times are microseconds since the job was submitted. Of a stage with few inputs every map has a flow to every reader; beyond
/// 10,000 flows of a stage, only the last map on each node has.
std::string trace_json(const EventHistory& history, const LoggedJob& job);

}  // namespace weft::history

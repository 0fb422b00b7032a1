// The event log of a master, for clients that are elsewhere.
#pragma once

#include <string>

#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::master {

/// A part of a file of the log, which is empty at its end. not_found: the master writes no log that can be read, or has removed
/// this file. Reads kEventsChunkBytes at most. When a job is wanted: its lines, and those about workers, of the text from the
/// offset on, where a line begins (invalid_argument otherwise); looks through 8 MiB at most.
Result<client::Events> read_events(const std::string& log, const client::EventsWanted& wanted);

}  // namespace weft::master

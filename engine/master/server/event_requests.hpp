// What happened, for clients that are elsewhere: the event log of a master, and what its cluster did over time.
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/server.hpp"

namespace weft::master {

/// A part of a file of the log, which is empty at its end. not_found: the master writes no log that can be read, or has removed
/// this file. Reads kEventsChunkBytes at most. When a job is wanted: its lines, and those about workers, of the text from the
/// offset on, where a line begins (invalid_argument otherwise); looks through 8 MiB at most. Lines before `from` may be about
/// another job with the same id: then they are not there.
Result<client::Events> read_events(const std::string& log, const client::EventsWanted& wanted, LogPlace from = {});

/// Answers with read_events(), on the reactor's thread. What is searched for the lines of one job takes longer, and is read on the
/// background's; both must outlive that.
void answer_events(const std::string& log, const client::EventsWanted& wanted, LogPlace from, rpc::Reactor& background,
                   rpc::Reactor& reactor, rpc::Responder responder);

/// The answer to a PastWanted, by the one who takes samples. not_found: nobody does.
Result<rpc::Payload> read_past(const Server::Past& past, const rpc::Message& message);

}  // namespace weft::master

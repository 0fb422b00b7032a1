// Jobs from the event log of a master that is elsewhere.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/tools/history/history.hpp"

namespace weft::history {

/// Asks the master for a part of a file of its event log. It may answer with the lines of the job that is wanted instead.
using ReadEvents = std::function<Result<client::Events>(const client::EventsWanted&)>;

/// The history of one job. Copies files of the log to a temporary directory, the latest first, until they have the job's
/// submission; not_found when none has it.
Result<EventHistory> fetch_job(const ReadEvents& master, std::uint64_t job);

}  // namespace weft::history

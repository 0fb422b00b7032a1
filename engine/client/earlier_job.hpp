// The job that an earlier run with the same --request-id was.
#pragma once

#include <optional>

#include "engine/client/session.hpp"

namespace weft::client {

/// The job of the same user on the standing cluster of `run` that has its request id, and is over. Nothing when there is none, when
/// `run` names no request or no cluster, or is the driver of a job that exists, and when no master answers at once. Blocks for as
/// long as a master takes to answer.
std::optional<master::JobStatus> earlier_job(const RunOptions& run);

}  // namespace weft::client

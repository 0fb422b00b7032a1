// A job as its master would report it, from its history: the same structure, so that it is shown by the same code.
#pragma once

#include "engine/master/core/core.hpp"
#include "engine/tools/history/history.hpp"

namespace weft::history {

/// What the log does not have keeps its default: predictions and why tasks wait.
master::JobStatus status_of(const LoggedJob& job);

}  // namespace weft::history

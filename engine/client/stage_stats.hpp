// What the stages of a job moved, for scripts and benchmarks.
#pragma once

#include <string>

#include "engine/master/core.hpp"

namespace weft::client {

/// {"job": …, "stages": [{"id", "name", "tasks", "input_bytes", "shuffle_bytes"}, …]} and a newline. Bytes are of tasks that count:
/// one attempt of each.
std::string stage_stats_json(const master::JobStatus& status);

}  // namespace weft::client

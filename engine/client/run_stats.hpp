// What is said of a run when it has succeeded: to a person, and to scripts and benchmarks (--stats).
#pragma once

#include <set>
#include <string>

#include "engine/master/core.hpp"

namespace weft::client {

/// Lines for standard error: each counter, and how many names were skipped in input directories, with one of them. Empty when there
/// is neither. Of very many counters some are shown, and how many more there are.
std::string closing_lines(const std::string& job_name, const master::Counters& counters, const std::set<std::string>& skipped);

/// {"job": …, "stages": [{"id", "name", "tasks", "input_bytes", "shuffle_bytes"}, …], "workers_lost": N, "lost_workers": ["w2
/// (SIGBUS)", …], "counters": {NAME: VALUE, …}, "skipped_inputs": {"count", "example"}} and a newline. Bytes and counters are of
/// tasks that count: one attempt of each. The example is there when the count is not 0.
std::string run_stats_json(const master::JobStatus& status, const std::set<std::string>& skipped);

}  // namespace weft::client

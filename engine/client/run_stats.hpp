// What is said of a run when it has succeeded: to a person, and to scripts and benchmarks (--stats).
#pragma once

#include <string>

#include "engine/master/core/core.hpp"
#include "storage/inputs.hpp"

namespace weft::client {

/// Lines for standard error: bad records, what cost the job time, each counter, and what was not read, or not twice, with an
/// example. Empty when there is nothing to say. Of very many counters some are shown, and how many more there are.
std::string closing_lines(const master::JobStatus& status, const storage::InputNotes& inputs);

/// {"job": …, "stages": [{"id", "name", "tasks", "input_bytes", "shuffle_bytes", and where there are some "bad_records",
/// "bad_record_examples"}, …], "workers_lost": N, "lost_workers": ["w2
/// (SIGBUS)", …], "counters": {NAME: VALUE, …}, "skipped_inputs": {"count", "example"},
/// "repeated_inputs" and "empty_inputs" in the same form} and a newline. Bytes and counters are of
/// tasks that count: one attempt of each. The example is there when the count is not 0.
std::string run_stats_json(const master::JobStatus& status, const storage::InputNotes& inputs);

}  // namespace weft::client

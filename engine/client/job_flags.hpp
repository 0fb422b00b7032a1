// Command lines that take the options of jobs: those of job programs, and `weft submit`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/master/core/job_options.hpp"

namespace CLI {
class App;
}

namespace weft::client {

/// Adds each of master::job_options(), in that group of the help. A text that JobOption::set() refuses is an error of the command
/// line; the others go to `take`, in their order.
void add_job_flags(CLI::App& app, const std::string& group,
                   const std::function<void(const master::JobOption& option, const std::string& text)>& take);

/// The options of the job among words of a job program, as "--name value" or "--name=value", in their order, and --memory, which
/// goes to `memory_bytes`. The first error is that of a value.
Result<void> find_job_flags(const std::vector<std::string>& words, master::JobOptions& options, std::uint64_t& memory_bytes);

}  // namespace weft::client

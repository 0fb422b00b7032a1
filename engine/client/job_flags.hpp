// Command lines that take the options of jobs: those of job programs, and `weft submit`.
#pragma once

#include <functional>
#include <string>

#include "engine/master/core/job_options.hpp"

namespace CLI {
class App;
}

namespace weft::client {

/// Adds each of master::job_options(), in that group of the help. A text that JobOption::set() refuses is an error of the command
/// line; the others go to `take`, in their order.
void add_job_flags(CLI::App& app, const std::string& group,
                   const std::function<void(const master::JobOption& option, const std::string& text)>& take);

}  // namespace weft::client

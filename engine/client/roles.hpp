// The roles in which weft starts a job's program besides the driver's own.
#pragma once

#include <string>
#include <vector>

namespace weft::client {

/// The environment that makes the program a worker of a private cluster; settings as "worker.key=value".
std::vector<std::string> worker_environment(const std::vector<std::string>& settings);

}  // namespace weft::client

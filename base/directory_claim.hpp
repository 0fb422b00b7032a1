// Directories that are for one process at a time.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// Claims a directory that is there for as long as the descriptor is open: a lock (flock) on the directory itself, which ends with
/// the process, whatever ends that. unavailable when another process has it: `role`, "master" or "worker", is in the message. An
/// invalid descriptor where the file system has no such locks.
Result<Fd> claim_directory(const std::string& path, std::string_view role);

}  // namespace weft

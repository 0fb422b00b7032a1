// Puts a finished local directory in the place of another one.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::storage {

/// Where what was there before is for a moment, where two directories cannot be exchanged. Never taken for a leftover.
std::string aside_of(const std::string& path);

/// Locks the directory if it is still the one at `path`; otherwise an invalid descriptor. `how`: as flock() takes it.
Fd lock_directory(const std::string& path, int how);

/// Makes `work` the directory at `path`; what was there (overwrite only) is at `work` afterwards. already_exists: it is there, and
/// not to be replaced.
Result<void> publish_directory(const std::string& work, const std::string& path, bool overwrite);

/// A process that died between the two steps of publish_directory() has left what was there before beside it: it gets its name
/// back, if nothing else has taken that.
void take_back(const std::string& path);

}  // namespace weft::storage

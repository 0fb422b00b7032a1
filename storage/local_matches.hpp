// Glob patterns on names of this machine's files.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace weft::storage {

/// The paths that the pattern of glob(3), with braces, matches, sorted; none is no error. What cannot be read on the way is one
/// that names it: glob() itself leaves out what is behind it. Any thread.
Result<std::vector<std::string>> local_matches(const std::string& pattern);

}  // namespace weft::storage

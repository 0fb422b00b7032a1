// Temporary files without a name: nothing of them stays, whatever ends the process.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// Returns a new file in `directory`, open for reading and writing. Where the file system has no files without names, a named one
/// is made and its name removed at once. The error names the directory.
Result<Fd> unlinked_file(const std::string& directory);

}  // namespace weft

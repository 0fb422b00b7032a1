// Temporary files without a name: nothing of them stays, whatever ends the process.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {

/// Open for reading and writing. Where the file system knows no files without names, one is made and its name removed at once.
Result<Fd> unlinked_file(const std::string& directory);

}  // namespace weft

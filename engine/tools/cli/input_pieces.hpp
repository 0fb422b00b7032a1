// Files and standard input of this machine, read for commands.
#pragma once

#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::tools {

/// Calls give(piece) with all that can be read from the descriptor, in order, until its end or the first error. `name` is what an
/// error of reading names.
Result<void> read_in_pieces(int from, const std::string& name, const std::function<Result<void>(ByteView)>& give);

}  // namespace weft::tools

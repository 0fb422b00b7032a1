// Bytes to standard output, for commands that print as long as there is something to print. Text goes by print() (table.hpp).
#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::tools {

/// Writes all of it, behind what was printed. cancelled when nobody reads it any more: main() ends the program with success then,
/// and without a word.
Result<void> print_bytes(ByteView bytes);

/// cancelled, likewise, when nobody reads what is printed: for commands that print again and again.
Result<void> check_reader();

}  // namespace weft::tools

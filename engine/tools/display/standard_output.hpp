// What commands print.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::tools {

/// Prints text for people or JSON, without anything that acts on a terminal (base/printable.hpp). Always succeeds: main() reports
/// what could not be written when it flushes standard output.
Result<void> print(const std::string& text);

/// Writes bytes as they are, all of them, behind what was printed: for commands that print as long as there is something to print.
/// The error is `cancelled` when nobody reads standard output any more: main() then ends the program quietly and with success.
Result<void> print_bytes(ByteView bytes);

/// `cancelled` when nobody reads standard output any more: for commands that print again and again.
Result<void> check_reader();

}  // namespace weft::tools

// Modes of files and directories as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::storage {

/// 0644 of "644", 01777 of "1777". Three or four octal digits: perhaps 1 (sticky), then the owner's, the group's, which nobody is
/// in, and everybody else's. invalid_argument names the text.
Result<std::uint32_t> parse_mode(std::string_view text);
/// "rw-r--r--"; with a t at the end, or a T, when it is sticky.
std::string mode_text(std::uint32_t mode);

}  // namespace weft::storage

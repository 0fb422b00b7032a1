// How much room text takes on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Columns that UTF-8 `text` takes: 0 for combining marks, 2 for wide East Asian characters and emoji, 1 for all else, and for
/// each byte that is no UTF-8.
std::size_t display_width(std::string_view text);

/// The longest beginning of `text` that takes no more than `columns`.
std::string_view fitting(std::string_view text, std::size_t columns);

}  // namespace weft

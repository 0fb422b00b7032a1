// What a compiler says of a job program, cut to what its author can do something about.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::tools {

/// Errors of g++ or clang (LC_ALL=C) that are in `source`, or in files beside or below it, and those that weft's headers report
/// about a use in them ("weft map: ..."), which get the place of the use. At most `most_lines` lines, the last of which says how
/// many errors are left out. If nothing concerns these files, the first errors. Lines end with "\n".
std::string relevant_messages(std::string_view messages, const std::string& source, std::size_t most_lines);

}  // namespace weft::tools

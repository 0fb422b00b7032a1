// Lines for whoever reads the standard error of a program.
#pragma once

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace weft {

/// As fmt::print(stderr, …), which throws when it cannot write: a log on a full disk would end the program. Here what cannot be
/// written is lost.
template <class... Values>
void print_error(fmt::format_string<Values...> format, Values&&... values) {
  std::fputs(fmt::format(format, std::forward<Values>(values)...).c_str(), stderr);
}

}  // namespace weft

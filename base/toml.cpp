#define TOML_IMPLEMENTATION
#include "base/toml.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft {

namespace {

/// Of a line. Dotted keys nest tables, and reading or freeing nested tables takes stack for each; real files stay far below.
constexpr std::ptrdiff_t kMostDots = 1000;

Result<void> check_nesting(std::string_view text, std::string_view source) {
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (std::count(line.begin(), line.end(), '.') > kMostDots)
      return fail(Code::invalid_argument, fmt::format("{}:{}: more than {} dots in a line", source, number, kMostDots));
  }
  return {};
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, std::string_view source) {
  WEFT_TRY(check_nesting(text, source));
  auto parsed = toml::parse(text, source);
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& error = parsed.error();
  return fail(Code::invalid_argument,
              fmt::format("{}:{}: {}", source, error.source().begin.line, escaped(std::string_view(error.description()))));
}

}  // namespace weft

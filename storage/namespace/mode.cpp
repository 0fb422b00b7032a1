#include "storage/namespace/mode.hpp"

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

Result<std::uint32_t> parse_mode(std::string_view text) {
  std::uint32_t mode = 0;
  bool good = text.size() == 3 || text.size() == 4;
  for (const char digit : text) {
    good = good && digit >= '0' && digit <= '7';
    mode = mode * 8 + static_cast<std::uint32_t>(digit - '0');
  }
  if (good && mode <= kMostMode) return mode;
  return fail(Code::invalid_argument,
              fmt::format("'{}' is no mode: three octal digits, such as 644, or four from 1000 to {:o}", escaped(text), kMostMode));
}

std::string mode_text(std::uint32_t mode) {
  constexpr std::string_view kLetters = "rwxrwxrwx";
  std::string text(kLetters);
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((mode >> (text.size() - 1 - i) & 1U) == 0) text[i] = '-';
  if ((mode & kStickyMode) != 0) text.back() = (mode & 1U) != 0 ? 't' : 'T';
  return text;
}

}  // namespace weft::storage

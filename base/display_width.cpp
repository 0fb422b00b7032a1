#include "base/display_width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/printable.hpp"

namespace weft {

namespace {

struct Range {
  std::uint32_t first, last;
};

// Combining marks and characters without width of the scripts that names come in (Unicode 15, general categories Mn, Me, Cf).
constexpr std::array kNarrowest{
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd}, Range{0x0610, 0x061a}, Range{0x064b, 0x065f},
    Range{0x0e31, 0x0e31}, Range{0x0e34, 0x0e3a}, Range{0x0e47, 0x0e4e}, Range{0x093c, 0x093c}, Range{0x0941, 0x0948},
    Range{0x094d, 0x094d}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200f}, Range{0x2060, 0x2064},
    Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f}, Range{0xfeff, 0xfeff}, Range{0xe0100, 0xe01ef},
};
// East Asian Width W and F.
constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x231a, 0x231b},   Range{0x23e9, 0x23ec},   Range{0x2614, 0x2615},   Range{0x26a1, 0x26a1},
    Range{0x2705, 0x2705},   Range{0x274c, 0x274c},   Range{0x2e80, 0x303e},   Range{0x3041, 0x33ff},   Range{0x3400, 0x4dbf},
    Range{0x4e00, 0x9fff},   Range{0xa000, 0xa4cf},   Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
    Range{0x1fa70, 0x1faff}, Range{0x20000, 0x3fffd},
};

template <class Ranges>
bool is_in(std::uint32_t code, const Ranges& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [code](Range range) { return code >= range.first && code <= range.last; });
}

struct Character {
  std::size_t bytes, columns;
};

/// The first one of `text`, which is not empty.
Character first_of(std::string_view text) {
  const std::size_t bytes = utf8_length(text);
  if (bytes <= 1) return {1, 1};
  const char32_t code = code_point(text.substr(0, bytes));
  return {bytes, is_in(code, kNarrowest) ? std::size_t{0} : is_in(code, kWide) ? std::size_t{2} : std::size_t{1}};
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character character = first_of(text);
    columns += character.columns;
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string_view fitting(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character character = first_of(text.substr(bytes));
    if (character.columns > columns) break;
    columns -= character.columns;
    bytes += character.bytes;
  }
  return text.substr(0, bytes);
}

}  // namespace weft

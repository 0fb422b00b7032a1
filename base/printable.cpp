#include "base/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/core.h>

namespace weft {
namespace {

constexpr std::string_view kEllipsis = "…";

bool plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f; }

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

std::string_view short_escape(char c) { return c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : ""; }

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !continues(text, 1)) return 0;
  if (lead < 0xe0) return 2;
  const auto second = static_cast<unsigned char>(text[1]);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;  // overlong, surrogates
  if (!continues(text, 2)) return 0;
  if (lead < 0xf0) return 3;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;  // overlong, past U+10FFFF
  return continues(text, 3) ? 4 : 0;
}

char32_t code_point(std::string_view character) {
  constexpr std::array<char32_t, 5> kLeadBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code = static_cast<unsigned char>(character[0]) & kLeadBits[character.size()];
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

bool is_invisible(char32_t code) {
  const auto within = [code](char32_t low, char32_t high) { return low <= code && code <= high; };
  // C0 and C1 controls, marks of direction, separators of lines, the byte order mark, and tags, which no font shows.
  return code < 0x20 || within(0x7f, 0x9f) || code == 0x61c || code == 0x180e || code == 0x200b || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2060, 0x206f) || code == 0xfeff || within(0xfff9, 0xfffb) || within(0xe0000, 0xe007f);
}

std::size_t append_printable(std::string& out, std::string_view text) {
  if (plain(text[0])) {
    out += text[0];
    return 1;
  }
  const std::size_t length = utf8_length(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
  if (const std::string_view known = short_escape(text[0]); !known.empty()) {
    out += known;
  } else if (length <= 1) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
  } else if (const char32_t code = code_point(character); is_invisible(code)) {
    out += fmt::format("\\u{{{:04x}}}", static_cast<std::uint32_t>(code));
  } else {
    out += character;
  }
  return character.size();
}

std::string printable(std::string_view text, std::size_t most) {
  if (text.size() <= most && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string out;
  out.reserve(std::min(text.size(), most) + kEllipsis.size());
  while (!text.empty()) {
    const std::size_t before = out.size();
    text.remove_prefix(append_printable(out, text));
    if (out.size() <= most) continue;
    out.resize(before);
    return out.append(kEllipsis);
  }
  return out;
}

std::string bounded(std::string text, std::size_t most) { return text.size() <= most ? std::move(text) : printable(text, most); }

std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text[0] == '\n' || text[0] == '\t') {
      out += text[0];
      text.remove_prefix(1);
    } else {
      text.remove_prefix(append_printable(out, text));
    }
  }
  return out;
}

}  // namespace weft

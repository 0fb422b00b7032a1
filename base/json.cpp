#include "base/json.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/printable.hpp"

namespace weft {
namespace {

/// ASCII that stands for itself.
constexpr bool is_plain(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 && code < 0x7f && c != '"' && c != '\\';
}

/// ASCII that does not.
void append_escaped(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\n\r\t", kNames = "\"\\nrt";
  if (const auto known = kShort.find(c); known != std::string_view::npos) {
    (out += '\\') += kNames[known];
  } else {
    out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
}

/// \uNNNN, twice for characters past U+FFFF.
void append_code_units(std::string& out, std::string_view character) {
  auto code = static_cast<std::uint32_t>(code_point(character));
  if (code > 0xffff) {
    out += fmt::format("\\u{:04x}", 0xd7c0u + (code >> 10));
    code = 0xdc00u + (code & 0x3ffu);
  }
  out += fmt::format("\\u{:04x}", code);
}

/// The character beyond ASCII at the beginning of `text`; returns how many bytes it has.
std::size_t append_character(std::string& out, std::string_view text) {
  const std::size_t length = utf8_length(text);
  if (length == 0) {
    out += "\\ufffd";
  } else if (is_invisible(code_point(text.substr(0, length)))) {  // may reach a terminal
    append_code_units(out, text.substr(0, length));
  } else {
    out.append(text, 0, length);
  }
  return length == 0 ? 1 : length;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out.append(text, 0, plain);  // nearly everything
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      append_escaped(out, text[0]);
      text.remove_prefix(1);
    } else {
      text.remove_prefix(append_character(out, text));
    }
  }
  out += '"';
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_quoted(out, text);
  return out;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == Scope::object && !after_key_);
  if (!first_) text_ += ',';
  first_ = false;
  append_quoted(text_, name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  return literal(fmt::format("{}", number));
}

JsonWriter& JsonWriter::literal(std::string_view text) {
  before_value();
  text_ += text;
  return *this;
}

void JsonWriter::before_value() {
  if (scopes_.empty()) {
    WEFT_ASSERT(text_.empty());
    return;
  }
  if (scopes_.back() == Scope::object) {
    WEFT_ASSERT(after_key_);
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::begin(char open, Scope scope) {
  if (scopes_.empty()) {  // most texts are short, and not nested deeply
    text_.reserve(256);
    scopes_.reserve(8);
  }
  before_value();
  text_ += open;
  scopes_.push_back(scope);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end(char close, Scope scope) {
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == scope && !after_key_);
  text_ += close;
  scopes_.pop_back();
  first_ = false;
  return *this;
}

}  // namespace weft

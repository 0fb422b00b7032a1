#include "base/json.hpp"

#include <cmath>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/printable.hpp"

namespace weft {
namespace {

void append_ascii(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\n\r\t", kNames = "\"\\nrt";
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code != 0x7f && c != '"' && c != '\\') {
    out += c;
  } else if (const auto known = kShort.find(c); known != std::string_view::npos) {
    (out += '\\') += kNames[known];
  } else {
    out += fmt::format("\\u{:04x}", code);
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

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {  // nearly everything
      append_ascii(out, text[at++]);
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      out += "\\ufffd";
    } else if (is_invisible(code_point(text.substr(at, length)))) {  // may reach a terminal
      append_code_units(out, text.substr(at, length));
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  out += '"';
  return out;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == Scope::object && !after_key_);
  if (!first_) text_ += ',';
  first_ = false;
  text_ += json_quoted(name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) { return literal(json_quoted(text)); }

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

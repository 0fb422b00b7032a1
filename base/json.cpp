#include "base/json.hpp"

#include <cmath>

#include <fmt/core.h>

#include "base/assert.hpp"

namespace weft {
namespace {

bool continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

/// Length of the well-formed UTF-8 sequence at `at` (Unicode table 3-7), 0 when there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4 || !continuation(text, at + 1)) return 0;
  if (lead < 0xe0) return 2;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;  // overlong, surrogates
  if (!continuation(text, at + 2)) return 0;
  if (lead < 0xf0) return 3;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;  // overlong, past U+10FFFF
  return continuation(text, at + 3) ? 4 : 0;
}

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code < 0x20 || code == 0x7f) {
    out += fmt::format("\\u{:04x}", code);
  } else {
    out += c;
  }
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  out.reserve(text.size() + 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_ascii(out, text[at]);
    } else {
      out.append(text, at, length);
    }
    at += length == 0 ? 1 : length;
  }
  out += '"';
  return out;
}

JsonWriter& JsonWriter::begin_object() {
  begin('{', Scope::object);
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  end('}', Scope::object);
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  begin('[', Scope::array);
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  end(']', Scope::array);
  return *this;
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

void JsonWriter::begin(char open, Scope scope) {
  before_value();
  text_ += open;
  scopes_.push_back(scope);
  first_ = true;
}

void JsonWriter::end(char close, Scope scope) {
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == scope && !after_key_);
  text_ += close;
  scopes_.pop_back();
  first_ = false;
}

}  // namespace weft

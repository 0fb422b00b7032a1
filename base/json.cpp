#include "base/json.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/printable.hpp"

namespace weft {
namespace {

/// By code: ASCII that stands for itself.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t code = 0x20; code < 0x7f; ++code) plain[code] = code != '"' && code != '\\';
  return plain;
}();

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

/// What is added to a text at once: most keys and values are short and plain.
class Piece {
 public:
  void add(char c) { bytes_[size_++] = c; }
  /// False: it does not fit, or has to be escaped.
  bool add_quoted(std::string_view text) {
    if (text.size() > kMost) return false;
    add('"');
    for (char c : text) {
      if (!kPlain[static_cast<unsigned char>(c)]) return false;
      add(c);
    }
    add('"');
    return true;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  static constexpr std::size_t kMost = 60;

  std::array<char, kMost + 4> bytes_;
  std::size_t size_ = 0;
};

void append_quoted(std::string& out, std::string_view text) {
  if (Piece whole; whole.add_quoted(text)) {
    out += whole.text();
    return;
  }
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && kPlain[static_cast<unsigned char>(text[plain])]) ++plain;
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
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == '{' && !after_key_);
  Piece whole;
  if (!first_) whole.add(',');
  if (whole.add_quoted(name)) {
    whole.add(':');
    text_ += whole.text();
  } else {
    if (!first_) text_ += ',';
    append_quoted(text_, name);
    text_ += ':';
  }
  first_ = false;
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

JsonWriter& JsonWriter::whole(std::int64_t number) {
  const fmt::format_int digits(number);
  return literal({digits.data(), digits.size()});
}

JsonWriter& JsonWriter::whole(std::uint64_t number) {
  const fmt::format_int digits(number);
  return literal({digits.data(), digits.size()});
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
  if (scopes_.back() == '{') {
    WEFT_ASSERT(after_key_);
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::begin(char open) {
  if (scopes_.empty()) text_.reserve(256);  // most texts are short
  before_value();
  text_ += open;
  scopes_ += open;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end(char open, char close) {
  WEFT_ASSERT(!scopes_.empty() && scopes_.back() == open && !after_key_);
  text_ += close;
  scopes_.pop_back();
  first_ = false;
  return *this;
}

}  // namespace weft

#include "base/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft {
namespace {

constexpr int kMaxDepth = 200;  // what is deeper would exhaust the stack of a recursive caller

void append_utf8(std::string& out, std::uint32_t point) {
  const auto byte = [&out](std::uint32_t value) { out += static_cast<char>(value); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f));
  } else {
    byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)), byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f));
  }
}

bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonReader::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
}

JsonReader::Kind JsonReader::peek() {
  constexpr std::string_view kFirst = "{[\"tfn";
  constexpr std::array kKinds{Kind::object, Kind::array, Kind::text, Kind::flag, Kind::flag, Kind::null};
  skip_space();
  if (at_ == text_.size()) return Kind::end;
  if (const auto known = kFirst.find(text_[at_]); known != std::string_view::npos) return kKinds[known];
  return digit(text_[at_]) || text_[at_] == '-' ? Kind::number : Kind::other;
}

Result<void> JsonReader::enter(char open, std::string_view what) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != open) return fail(error(fmt::format("{} was expected", what)));
  if (++depth_ > kMaxDepth) return fail(error("nested too deeply"));
  ++at_;
  return {};
}

Result<bool> JsonReader::next(char close, bool first) {
  skip_space();
  if (at_ < text_.size() && text_[at_] == close) {
    ++at_;
    --depth_;
    return false;
  }
  if (!first) WEFT_TRY(expect(','));
  return true;
}

Result<void> JsonReader::expect(char c) {
  skip_space();
  if (at_ == text_.size()) return fail(error("the text ends too early"));
  if (text_[at_] != c) return fail(error(fmt::format("'{}' was expected, not '{}'", c, escaped(text_.substr(at_, 1)))));
  ++at_;
  return {};
}

Result<void> JsonReader::word(std::string_view literal) {
  if (text_.substr(at_, literal.size()) != literal) return fail(error(fmt::format("'{}' was expected", literal)));
  at_ += literal.size();
  return {};
}

Result<std::string> JsonReader::text() {
  if (peek() != Kind::text) return fail(error("a string was expected"));
  ++at_;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    const std::size_t plain = std::min(text_.find_first_of("\"\\", at_), text_.size());
    const auto piece = text_.substr(at_, plain - at_);
    if (std::any_of(piece.begin(), piece.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
      return fail(error("a control character within a string"));
    }
    out += piece;
    at_ = plain;
    if (at_ < text_.size() && text_[at_] == '\\') WEFT_TRY(escape(out));
  }
  if (at_ == text_.size()) return fail(error("a string that does not end"));
  ++at_;
  return out;
}

Result<void> JsonReader::escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  ++at_;
  if (at_ == text_.size()) return fail(error("a string that does not end"));
  const char name = text_[at_++];
  if (const auto found = kNames.find(name); found != std::string_view::npos) {
    out += kValues[found];
    return {};
  }
  if (name != 'u') return fail(error(fmt::format("unknown escape '\\{}'", escaped(text_.substr(at_ - 1, 1)))));
  WEFT_ASSIGN(std::uint32_t point, hex4());
  if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    const std::size_t back = at_;
    at_ += 2;
    WEFT_ASSIGN(const std::uint32_t low, hex4());
    if (low >= 0xdc00 && low < 0xe000) {
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    } else {
      at_ = back;
    }
  }
  append_utf8(out, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
  return {};
}

Result<std::uint32_t> JsonReader::hex4() {
  std::uint32_t value = 0;
  const auto digits = text_.substr(at_, 4);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (code != std::errc() || digits.size() != 4 || end != digits.data() + 4)
    return fail(error("four hexadecimal digits were expected"));
  at_ += 4;
  return value;
}

Result<std::string_view> JsonReader::number_token() {
  if (peek() != Kind::number) return fail(error("a number was expected"));
  const std::size_t begin = at_;
  const auto digits = [this] {
    const std::size_t from = at_;
    while (at_ < text_.size() && digit(text_[at_])) ++at_;
    return at_ - from;
  };
  if (text_[at_] == '-') ++at_;
  const bool leading_zero = at_ < text_.size() && text_[at_] == '0';
  const std::size_t whole = digits();
  bool good = whole > 0 && (whole == 1 || !leading_zero);
  if (at_ < text_.size() && text_[at_] == '.') {
    ++at_;
    good = digits() > 0 && good;
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    good = digits() > 0 && good;
  }
  if (!good) return fail(error(fmt::format("'{}' is not a number", text_.substr(begin, std::min<std::size_t>(at_ - begin, 40)))));
  return text_.substr(begin, at_ - begin);
}

Result<double> JsonReader::number() {
  WEFT_ASSIGN(const auto token, number_token());
  const auto value = parse_number<double>(token);
  if (!value || !std::isfinite(*value)) return fail(error(fmt::format("{} is out of range", token.substr(0, 40))));
  return *value;
}

Result<std::int64_t> JsonReader::integer() {
  WEFT_ASSIGN(const auto token, number_token());
  if (const auto value = parse_number<std::int64_t>(token)) return *value;
  const auto real = parse_number<double>(token);
  if (real && std::trunc(*real) == *real && std::abs(*real) < 0x1p63) return static_cast<std::int64_t>(*real);
  return fail(error(fmt::format("{} is not an integer of 64 bits", token.substr(0, 40))));
}

Result<std::uint64_t> JsonReader::unsigned_integer() {
  WEFT_ASSIGN(const auto token, number_token());
  if (const auto value = parse_number<std::uint64_t>(token)) return *value;
  const auto real = parse_number<double>(token);
  if (real && std::trunc(*real) == *real && *real >= 0 && *real < 0x1p64) return static_cast<std::uint64_t>(*real);
  return fail(error(fmt::format("{} is not an integer from 0 of 64 bits", token.substr(0, 40))));
}

Result<bool> JsonReader::flag() {
  if (peek() != Kind::flag) return fail(error("true or false was expected"));
  const bool value = text_[at_] == 't';
  WEFT_TRY(word(value ? "true" : "false"));
  return value;
}

Result<void> JsonReader::skip() {
  switch (peek()) {
    case Kind::object:
      return object([this](std::string_view) { return skip(); });
    case Kind::array:
      return array([this] { return skip(); });
    case Kind::text:
      WEFT_TRY(text());
      return {};
    case Kind::number:
      WEFT_TRY(number_token());
      return {};
    case Kind::flag:
      WEFT_TRY(flag());
      return {};
    case Kind::null:
      return word("null");
    case Kind::end:
      return fail(error("the text ends too early"));
    case Kind::other:
      break;
  }
  return fail(error(fmt::format("a value was expected, not '{}'", escaped(text_.substr(at_, 1)))));
}

Result<void> JsonReader::finish() {
  if (peek() != Kind::end) return fail(error("more text after the end"));
  return {};
}

Error JsonReader::error(std::string_view reason) const {
  const auto until = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size()));
  const auto line = first_line_ + static_cast<std::uint64_t>(std::count(text_.begin(), until, '\n'));
  return Error(Code::corrupt, fmt::format("{}:{}: {}", source_, line, reason));
}

}  // namespace weft

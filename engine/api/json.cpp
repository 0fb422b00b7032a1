// The only use of simdjson.
#include "weft/detail/json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include <simdjson.h>

#include "base/text.hpp"
#include "storage/text_reader.hpp"
#include "weft/counters.hpp"

namespace weft::detail {
namespace {

namespace dom = simdjson::dom;

const dom::element& element_of(JsonNode node) { return *static_cast<const dom::element*>(node.element); }

template <class T>
bool get(JsonNode node, T& value) {
  return element_of(node).get(value) == simdjson::SUCCESS;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

/// Integers beyond 64 bits get an exponent of zero, so that they are read as doubles, which fields of integers refuse.
std::string with_long_integers_as_fractions(std::string_view line) {
  std::string widened;
  bool in_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (in_text && c == '\\' && at + 1 < line.size()) {
      widened.append(line.substr(at++, 2));
      continue;
    }
    if (c == '"') in_text = !in_text;
    if (in_text || (c != '-' && (c < '0' || c > '9'))) {
      widened.push_back(c);
      continue;
    }
    const std::size_t end = std::min(line.find_first_not_of("0123456789+-.eE", at), line.size());
    const std::string_view number = line.substr(at, end - at);
    const bool whole = number.find_first_of(".eE") == std::string_view::npos;
    widened.append(number);
    if (whole && !parse_number<std::int64_t>(number) && !parse_number<std::uint64_t>(number)) widened.append("e0");
    at = end - 1;
  }
  return widened;
}

/// Calls visit(number) for the numbers of a line until it returns true. What is in quotes is none.
template <class Visit>
bool any_number(std::string_view line, const Visit& visit) {
  bool in_text = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (in_text && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '-' || (c >= '0' && c <= '9'))) {
      const std::size_t end = std::min(line.find_first_not_of("0123456789+-.eE", at), line.size());
      if (visit(line.substr(at, end - at))) return true;
      at = end - 1;
    }
  }
  return false;
}

/// Whether a number of the line is not zero, but the nearest double is: the parser does not report that. Such a number has a
/// negative exponent, or hundreds of digits.
bool becomes_zero(std::string_view line) {
  constexpr std::size_t kDigits = 300;
  if (line.find("e-") == std::string_view::npos && line.find("E-") == std::string_view::npos &&
      line.find(std::string_view("00000000000000000000000000000000")) == std::string_view::npos)
    return false;
  return any_number(line, [](std::string_view number) {
    double value = 0;
    const auto [read, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool looked = number.size() > kDigits || number.find_first_of("eE") != std::string_view::npos;
    return looked && error == std::errc::result_out_of_range;
  });
}

/// Whether the number is as far from one float as from the next.
bool is_between_floats(double wide) {
  constexpr std::uint64_t kBelow = (std::uint64_t{1} << 28) - 1;  // the bits of a double that not even half a float has
  if ((std::bit_cast<std::uint64_t>(wide) & kBelow) != 0) [[likely]]
    return false;
  const float nearest = static_cast<float>(wide);
  if (std::isinf(nearest)) return std::abs(wide) == 0x1.ffffffp127;
  if (nearest == wide) return false;
  const float next = std::nextafter(nearest, wide > nearest ? HUGE_VALF : -HUGE_VALF);
  return wide - nearest == next - wide;
}

/// How many bytes at the front are one character of UTF-8; 0: they are none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool shortest = first != 0xe0 || byte(1) >= 0xa0, no_surrogate = first != 0xed || byte(1) < 0xa0;
    return follows(1) && follows(2) && shortest && no_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool shortest = first != 0xf0 || byte(1) >= 0x90, in_range = first != 0xf4 || byte(1) < 0x90;
    return follows(1) && follows(2) && follows(3) && shortest && in_range ? 4 : 0;
  }
  return 0;
}

}  // namespace

bool json_null(JsonNode node) { return element_of(node).is_null(); }
bool json_bool(JsonNode node, bool& value) { return get(node, value); }
bool json_signed(JsonNode node, std::int64_t& value) { return get(node, value); }
bool json_unsigned(JsonNode node, std::uint64_t& value) { return get(node, value); }
bool json_number(JsonNode node, double& value) { return get(node, value); }
bool json_text(JsonNode node, std::string_view& value) { return get(node, value); }

// The nearest float to the nearest double is not always the nearest one to the number: the double may be between two floats where
// the number is not. Then its text decides. The parser does not say where that is, so it is that of the next number of this double;
// if a line has several such numbers that only differ behind the digits of a double, they may get the float of one of them.
float json_float(JsonNode node, double wide) {
  float value = static_cast<float>(wide);
  if (!is_between_floats(wide)) [[likely]]
    return value;
  any_number(*node.rest, [&](std::string_view text) {
    const char* const end = text.data() + text.size();
    double same = 0;
    if (std::from_chars(text.data(), end, same).ec != std::errc() || same != wide) return false;
    std::from_chars(text.data(), end, value);  // unchanged, infinite or zero, when it is beyond what a float has
    node.rest->remove_prefix(static_cast<std::size_t>(end - node.rest->data()));
    return true;
  });
  return value;
}

bool json_each(JsonNode node, void* self, bool (*visit)(void* self, JsonNode element)) {
  dom::array array;
  if (!get(node, array)) return false;
  for (const dom::element element : array) {
    if (!visit(self, {&element, node.rest})) break;
  }
  return true;
}

bool json_members(JsonNode node, std::span<const std::string_view> names, void* self,
                  bool (*visit)(void* self, std::size_t index, JsonNode value)) {
  dom::object object;
  if (!get(node, object)) return false;
  std::size_t expected = 0;  // members mostly come in the order of the fields
  for (const auto member : object) {
    std::size_t index = expected;
    if (index >= names.size() || names[index] != member.key) {
      index = 0;
      while (index < names.size() && names[index] != member.key) ++index;
      if (index == names.size()) continue;
    }
    expected = index + 1;
    if (!visit(self, index, {&member.value, node.rest})) break;
  }
  return true;
}

struct JsonLines::Parser {
  dom::parser parser;
  JsonProblem problem;
};

JsonLines::JsonLines() : parser_(std::make_unique<Parser>()) {}
JsonLines::~JsonLines() = default;

std::optional<std::string> JsonLines::read(std::string_view line, void* self, JsonRow row) {
  dom::element element;
  std::string_view rest = line;
  auto error = parser_->parser.parse(line.data(), line.size()).get(element);
  if (error == simdjson::NUMBER_ERROR) {  // JSON has integers of any length, the parser those of 64 bits
    const std::string widened = with_long_integers_as_fractions(line);
    error = parser_->parser.parse(widened.data(), widened.size()).get(element);
    if (error == simdjson::NUMBER_ERROR) return std::string("a number is malformed, or beyond the range of a double");
  }
  if (error != simdjson::SUCCESS) return std::string("no JSON: ") + simdjson::error_message(error);
  if (becomes_zero(line)) return std::string("a number is so small that a double has it only as 0");
  JsonProblem& problem = parser_->problem;
  problem.member.clear();
  if (row(self, {&element, &rest}, problem)) return std::nullopt;
  return (problem.member.empty() ? "the line" : "member '" + problem.member + "'") + " is not " + std::string(problem.wanted);
}

std::vector<std::string> distinct_members(std::vector<std::string> names) {
  for (auto name = names.begin(); name != names.end(); ++name)
    if (std::find(names.begin(), name, *name) != name)
      throw std::invalid_argument("JsonFormat::names: two fields have the member '" + *name +
                                  "', which an object has once; read it into one field and map() that to both");
  return names;
}

std::shared_ptr<const JsonInput> json_input(std::vector<std::string> names, const JsonFormat& format) {
  return std::make_shared<const JsonInput>(JsonInput{distinct_members(std::move(names)), format.hive_partitions});
}

void read_json_lines(TaskContext& context, void* self, void (*enter)(void* self, const std::string& path), JsonRow row) {
  JsonLines lines;
  const auto read = [&](storage::TextReader& reader, const storage::Split& split, SourceProgress& progress) {
    enter(self, split.path);
    bool first = split.offset == 0;
    return reader.for_each_line(
        split, [&](std::uint64_t offset) { progress.at(offset); },
        [&](std::string_view line) {
          if (std::exchange(first, false) && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
          if (is_blank(line)) return;
          progress.count();
          if (auto problem = lines.read(line, self, row)) bad_record(*problem);
        });
  };
  visit_splits<storage::TextReader>(context, "read_json", read);
}

void append_json_text(std::string& line, std::string_view text) {
  line.push_back('"');
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      line.append("\xef\xbf\xbd");
    } else if (c == '"' || c == '\\') {
      line.push_back('\\');
      line.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      line.append(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\u00");
      if (c != '\n' && c != '\t') {
        line.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
        line.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
      }
    } else {
      line.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  line.push_back('"');
}

void finish_json_number(std::string& line, std::size_t begin, double number) {
  if (!std::isfinite(number)) {
    line.replace(begin, std::string::npos, "null");
    return;
  }
  // Without a point it would be read as an integer, which has 64 bits at most and no negative zero.
  const bool whole = line.find_first_of(".e", begin) == std::string::npos;
  if (whole && (std::abs(number) >= 0x1p63 || (number == 0 && std::signbit(number)))) line.append(".0");
}

}  // namespace weft::detail

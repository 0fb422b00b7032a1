#include "engine/tools/cli/column_guess.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

namespace weft::tools {
namespace {

using storage::parquet::Calendar;
using storage::parquet::Kind;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
bool is_number(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && is_digit(text[1]);
}

/// Whether the text has digits where the pattern has '0', and otherwise the same characters.
bool matches(std::string_view text, std::string_view pattern) {
  return text.size() == pattern.size() && std::equal(text.begin(), text.end(), pattern.begin(),
                                                     [](char c, char wanted) { return wanted == '0' ? is_digit(c) : c == wanted; });
}

bool is_day(std::string_view text) {
  if (!matches(text, "0000-00-00")) return false;
  const std::string_view month = text.substr(5, 2), day = text.substr(8, 2);
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

bool is_moment(std::string_view text) {
  if (text.size() < 16 || !is_day(text.substr(0, 10)) || (text[10] != 'T' && text[10] != ' ')) return false;
  text.remove_prefix(11);
  if (!matches(text.substr(0, 5), "00:00") || text.substr(0, 2) > "23" || text.substr(3, 2) > "59") return false;
  text.remove_prefix(5);
  if (matches(text.substr(0, 3), ":00") && text.substr(1, 2) <= "59") text.remove_prefix(3);
  if (text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789", 1), text.size());
    if (digits > 10) return false;
    text.remove_prefix(digits);
  }
  if (text.empty() || text == "Z") return true;
  if (text[0] != '+' && text[0] != '-') return false;
  text.remove_prefix(1);
  return matches(text, "00:00") || matches(text, "0000") || matches(text, "00");
}

bool is_flag(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return lower == "true" || lower == "false";
}

Shape made(std::string name, Kind kind, Calendar calendar = Calendar::none) {
  Shape shape;
  shape.name = std::move(name);
  shape.kind = kind;
  shape.calendar = calendar;
  return shape;
}

std::string camel(std::string_view name) {
  std::string made;
  bool up = true;
  for (const char c : cpp_name(name)) {
    if (c == '_') {
      up = true;
      continue;
    }
    made.push_back(std::exchange(up, false) && c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c);
  }
  return made.empty() || is_digit(made[0]) ? "Part" + made : made;
}

/// The record that a shape is, or is a list of; null when none is.
const Shape* record_in(const Shape& shape) {
  if (shape.kind == Kind::list) return record_in(shape.children[0]);
  return shape.kind == Kind::record ? &shape : nullptr;
}

/// Writes structs, each with a name of its own.
class StructWriter {
 public:
  void write(const Shape& row, const std::string& name, bool outermost) {
    names_.push_back(name);
    const std::vector<std::string> fields = field_names(row, name);
    std::string lines;
    std::size_t written = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Shape& field = row.children[i];
      const bool fits = written < kMostFields && (outermost || fields[i] == field.name);
      std::string record = "…";
      if (const Shape* const inner = record_in(field); inner != nullptr && fits) {
        record = unused(camel(field.name), fields);
        write(*inner, record, false);
      }
      lines += fmt::format("{}{} {}{};\n", fits ? "  " : "  // ", cpp_type(field, record), fields[i], initial_value(field));
      written += fits ? 1 : 0;
    }
    if (fields.size() > kMostFields) lines += "  // (a struct of rows has up to 24 fields)\n";
    text_ += fmt::format("struct {} {{\n{}}};\n", name, lines);
  }
  std::string text() && { return std::move(text_); }

 private:
  static std::string_view initial_value(const Shape& field) {
    if (field.optional || field.calendar != Calendar::none) return "";
    if (field.kind == Kind::boolean) return " = false";
    return field.kind == Kind::text || field.kind == Kind::list || field.kind == Kind::record ? "" : " = 0";
  }
  /// Neither another struct's name nor that of a field beside it.
  std::string unused(const std::string& wanted, const std::vector<std::string>& fields) const {
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::string name = wanted;
    for (int i = 2; in(names_, name) || in(fields, name); ++i) name = wanted + std::to_string(i);
    return name;
  }
  std::vector<std::string> names_;
  std::string text_;
};

}  // namespace

void TextGuess::see(std::string_view text) {
  ++seen_;
  if (text.empty()) {
    ++missing_;
    return;
  }
  const bool code = has_leading_zero(text);
  flag_ = flag_ && is_flag(text);
  signed_ = signed_ && !code && is_number<std::int64_t>(text);
  unsigned_ = unsigned_ && !code && is_number<std::uint64_t>(text);
  real_ = real_ && (is_number<double>(text) && (!code || text.find('.') != std::string_view::npos)) &&
          !std::isalpha(static_cast<unsigned char>(text.back()));
  day_ = day_ && is_day(text);
  moment_ = moment_ && is_moment(text);
}

bool TextGuess::is_text() const { return missing_ == seen_ || !(flag_ || signed_ || unsigned_ || real_ || day_ || moment_); }

Shape TextGuess::shape(std::string name) const {
  Shape shape = made(std::move(name), Kind::text);
  if (missing_ == seen_) {
  } else if (flag_) {
    shape.kind = Kind::boolean;
  } else if (signed_ || unsigned_) {
    shape.kind = signed_ ? Kind::signed_number : Kind::unsigned_number;
  } else if (real_) {
    shape.kind = Kind::real_number;
  } else if (day_ || moment_) {
    shape.kind = Kind::signed_number;
    shape.calendar = day_ ? Calendar::day : Calendar::moment;
  }
  shape.optional = missing_ > 0;
  return shape;
}

Result<void> JsonGuess::see(JsonReader& json) {
  switch (json.peek()) {
    case JsonReader::Kind::object:
      ++objects_;
      return json.object([&](std::string_view key) {
        auto found = members_.find(key);
        if (found == members_.end()) {
          order_.emplace_back(key);
          found = members_.try_emplace(std::string(key), std::make_unique<JsonGuess>(), 0).first;
        }
        ++found->second.second;
        return found->second.first->see(json);
      });
    case JsonReader::Kind::array:
      ++arrays_;
      if (element_ == nullptr) element_ = std::make_unique<JsonGuess>();
      return json.array([&] { return element_->see(json); });
    case JsonReader::Kind::flag:
      ++flags_;
      return json.skip();
    case JsonReader::Kind::null:
      ++nulls_;
      return json.skip();
    case JsonReader::Kind::text: {
      ++texts_;
      WEFT_ASSIGN(const std::string text, json.text());
      text_.see(text.empty() ? " " : text);  // an empty text is one
      return {};
    }
    default: {
      ++numbers_;
      WEFT_ASSIGN(const std::string_view number, json.number_token());
      natural_ = natural_ && is_number<std::uint64_t>(number);
      whole_ = whole_ && is_number<std::int64_t>(number);  // 1.0 is a number that a field of whole numbers does not take
      return {};
    }
  }
}

Shape JsonGuess::shape(std::string name) const {
  const int kinds = (objects_ > 0) + (arrays_ > 0) + (flags_ > 0) + (numbers_ > 0) + (texts_ > 0);
  Shape shape = made(name, Kind::text);
  if (kinds == 1 && objects_ > 0 && !order_.empty()) {
    shape.kind = Kind::record;
    for (const std::string& member : order_) {
      const auto& [guess, count] = members_.find(member)->second;
      shape.children.push_back(guess->shape(member));
      if (count < objects_) shape.children.back().optional = true;
    }
  } else if (kinds == 1 && arrays_ > 0) {
    shape.kind = Kind::list;
    shape.children.push_back(element_->shape("element"));
  } else if (kinds == 1 && flags_ > 0) {
    shape.kind = Kind::boolean;
  } else if (kinds == 1 && numbers_ > 0) {
    shape.kind = whole_ ? Kind::signed_number : natural_ ? Kind::unsigned_number : Kind::real_number;
  } else if (kinds == 1 && texts_ > 0) {
    const Shape text = text_.shape(name);
    if (text.calendar != Calendar::none) shape = text;  // numbers in quotes stay texts
  }
  shape.optional = nulls_ > 0 || kinds == 0;
  return shape;
}

std::string cpp_type(const Shape& shape, const std::string& record) {
  std::string type;
  switch (shape.kind) {
    case Kind::boolean:
      type = "bool";
      break;
    case Kind::real_number:
      type = shape.bits <= 32 ? "float" : "double";
      break;
    case Kind::text:
      type = "std::string";
      break;
    case Kind::list:
      type = fmt::format("std::vector<{}>", cpp_type(shape.children[0], record));
      break;
    case Kind::record:
      type = record;
      break;
    default:
      type = fmt::format("std::{}int{}_t", shape.kind == Kind::signed_number ? "" : "u", shape.bits);
  }
  if (shape.calendar == Calendar::day) type = "weft::Date";
  if (shape.calendar == Calendar::moment) type = "weft::Timestamp";
  return shape.optional ? fmt::format("std::optional<{}>", type) : type;
}

std::string cpp_name(std::string_view column) {
  static constexpr std::array<std::string_view, 40> kTaken{
      "and",     "auto",   "bool",     "break",  "case",  "catch",     "char",   "class",  "const",    "continue",
      "default", "delete", "do",       "double", "else",  "enum",      "export", "extern", "false",    "float",
      "for",     "friend", "if",       "int",    "long",  "namespace", "new",    "not",    "operator", "or",
      "private", "public", "register", "return", "short", "signed",    "struct", "switch", "this",     "union"};
  static constexpr std::array<std::string_view, 16> kTakenToo{"goto",     "inline",   "mutable", "protected", "requires", "sizeof",
                                                              "static",   "template", "throw",   "true",      "try",      "typedef",
                                                              "typename", "unsigned", "using",   "while"};
  std::string name;
  for (const char c : column) name.push_back(is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : '_');
  name.erase(0, std::min(name.find_first_not_of('_'), name.size()));  // names with leading underscores may be the compiler's
  if (name.empty()) name = "column";
  if (is_digit(name[0])) name.insert(0, "c");
  const bool taken = std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end() ||
                     std::find(kTakenToo.begin(), kTakenToo.end(), name) != kTakenToo.end() || name == "virtual" ||
                     name == "void" || name == "volatile" || name == "concept" || name == "module" || name == "import";
  return taken ? name + "_" : name;
}

std::vector<std::string> field_names(const Shape& row, const std::string& name) {
  std::vector<std::string> names;
  std::set<std::string> taken{name};
  for (const Shape& column : row.children) {
    const std::string wanted = cpp_name(column.name);
    std::string field = wanted;
    for (int i = 2; !taken.insert(field).second; ++i) field = wanted + "_" + std::to_string(i);
    names.push_back(field);
  }
  return names;
}

std::string cpp_struct(const Shape& row, const std::string& name) {
  StructWriter writer;
  writer.write(row, name, true);
  return std::move(writer).text();
}

}  // namespace weft::tools

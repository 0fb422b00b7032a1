#include "schedulers/config/options.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

tl::unexpected<Error> bad_value(const std::string& key, const std::string& value, std::string_view what) {
  return fail(Code::invalid_argument, fmt::format("scheduler option {}={} is {}", key, escaped(value), what));
}

/// Parts between commas that are in no parenthesis or bracket; nothing when those do not match.
std::optional<std::vector<std::string_view>> split_outside(std::string_view list) {
  std::vector<std::string_view> parts;
  std::string open;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '(' || c == '[') open += c;
    if (c == ')' || c == ']') {
      if (open.empty() || open.back() != (c == ')' ? '(' : '[')) return std::nullopt;
      open.pop_back();
    }
    if (c != ',' || !open.empty()) continue;
    parts.push_back(trim(list.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!open.empty()) return std::nullopt;
  if (!trim(list.substr(begin)).empty()) parts.push_back(trim(list.substr(begin)));
  return parts;
}

}  // namespace

Result<SpecText> parse_spec(std::string_view text) {
  text = trim(text);
  const auto open = text.find('(');
  if (open == std::string_view::npos) return SpecText{std::string(text), {}};
  if (text.back() != ')') {
    return fail(Code::invalid_argument, fmt::format("scheduler '{}' lacks the closing parenthesis", escaped(text)));
  }
  return SpecText{std::string(trim(text.substr(0, open))), std::string(text.substr(open + 1, text.size() - open - 2))};
}

Result<Options> Options::parse(std::string_view list, FileReader reader) {
  Options options;
  options.reader_ = std::move(reader);
  const auto parts = split_outside(list);
  if (!parts) return fail(Code::invalid_argument, fmt::format("the parentheses of '{}' do not match", escaped(list)));
  for (std::string_view part : *parts) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) {
      return fail(Code::invalid_argument, fmt::format("scheduler option '{}' is not of the form key=value", escaped(part)));
    }
    std::string key(trim(part.substr(0, equals)));
    if (!is_name(key)) return fail(Code::invalid_argument, fmt::format("'{}' is no name of a scheduler option", escaped(key)));
    if (!options.values_.emplace(key, trim(part.substr(equals + 1))).second) {
      return fail(Code::invalid_argument, fmt::format("scheduler option '{}' is given twice", key));
    }
  }
  return options;
}

std::optional<std::string> Options::take(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  values_.erase(found);
  return value;
}

Result<std::string> Options::text(const std::string& key, std::string otherwise) {
  return take(key).value_or(std::move(otherwise));
}

Result<std::size_t> Options::choice(const std::string& key, std::span<const std::string_view> known, std::string_view otherwise) {
  const std::string value = take(key).value_or(std::string(otherwise));
  const auto found = std::find(known.begin(), known.end(), value);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  return bad_value(key, value, fmt::format("not one of {}", fmt::join(known, ", ")));
}

Result<double> Options::number(const std::string& key, double otherwise, double low, double high) {
  const auto text = take(key);
  if (!text) return otherwise;
  const auto value = parse_number<double>(*text);
  if (!value) return bad_value(key, *text, "not a number");
  if (!(*value >= low && *value <= high)) return bad_value(key, *text, fmt::format("not between {} and {}", low, high));
  return *value;
}

Result<std::uint64_t> Options::whole(const std::string& key, std::uint64_t otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  if (const auto value = parse_number<std::uint64_t>(*text)) return *value;
  return bad_value(key, *text, "not a whole number");
}

Result<bool> Options::flag(const std::string& key, bool otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  if (*text == "true" || *text == "1" || *text == "yes") return true;
  if (*text == "false" || *text == "0" || *text == "no") return false;
  return bad_value(key, *text, "neither true nor false");
}

Result<Time> Options::duration(const std::string& key, Time otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  if (const auto value = parse_duration(*text)) return Time(*value);
  return bad_value(key, *text, "not a duration (write for example 250ms, 5s, 2min)");
}

Result<std::uint64_t> Options::size(const std::string& key, std::uint64_t otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  if (const auto value = parse_size(*text)) return *value;
  return bad_value(key, *text, "not a size (write for example 64KiB, 1.5GiB)");
}

Result<std::vector<std::string>> Options::list(const std::string& key) {
  const auto text = take(key);
  std::vector<std::string> items;
  if (!text) return items;
  if (text->size() < 2 || text->front() != '[' || text->back() != ']') return bad_value(key, *text, "not a list (write [a, b])");
  const auto parts = split_outside(std::string_view(*text).substr(1, text->size() - 2));
  if (!parts) return bad_value(key, *text, "not a list (write [a, b])");
  items.assign(parts->begin(), parts->end());
  return items;
}

Result<std::vector<std::string>> Options::choices(const std::string& key, std::span<const std::string_view> known,
                                                  std::string_view otherwise) {
  std::string& value = values_.try_emplace(key, otherwise).first->second;
  if (!value.starts_with('[')) value = fmt::format("[{}]", value);
  WEFT_ASSIGN(std::vector<std::string> names, list(key));
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Code::invalid_argument,
                  fmt::format("scheduler option {}: '{}' is none of {}", key, escaped(name), fmt::join(known, ", ")));
  }
  return names;
}

Result<std::optional<ConfigFile>> Options::file(const std::string& key) {
  auto name = take(key);
  if (!name) return std::optional<ConfigFile>();
  if (!reader_) return bad_value(key, *name, "the name of a file, and nothing here can read files");
  auto text = reader_(*name);
  if (!text) return fail(std::move(text).error().wrap(fmt::format("scheduler option {}={}", key, escaped(*name))));
  return ConfigFile{escaped(*name), std::move(*text)};
}

Result<void> Options::done() const {
  if (values_.empty()) return {};
  return fail(Code::invalid_argument, fmt::format("unknown scheduler option '{}' (known: {})", values_.begin()->first,
                                                  known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", "))));
}

}  // namespace weft::schedulers

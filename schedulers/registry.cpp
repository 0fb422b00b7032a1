#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedulers/scheduler.hpp"

namespace weft::sched {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// "key=value,key=value" into a map.
Result<std::map<std::string, std::string>> parse_options(std::string_view list) {
  std::map<std::string, std::string> values;
  while (!trimmed(list).empty()) {
    const auto comma = std::min(list.find(','), list.size());
    const auto item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) {
      return fail(Code::invalid_argument, fmt::format("scheduler option '{}' is not of the form key=value", trimmed(item)));
    }
    std::string key(trimmed(item.substr(0, equals)));
    if (!is_name(key)) return fail(Code::invalid_argument, fmt::format("'{}' is no name of a scheduler option", key));
    if (!values.emplace(key, trimmed(item.substr(equals + 1))).second) {
      return fail(Code::invalid_argument, fmt::format("scheduler option '{}' is given twice", key));
    }
  }
  return values;
}

}  // namespace

std::optional<std::string> Options::take(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  std::string value = std::move(found->second);
  values_.erase(found);
  return value;
}

Result<double> Options::number(const std::string& key, double otherwise) {
  auto text = take(key);
  if (!text) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) {
    return fail(Code::invalid_argument, fmt::format("scheduler option {}={} is not a number", key, *text));
  }
  return value;
}

Result<bool> Options::flag(const std::string& key, bool otherwise) {
  auto text = take(key);
  if (!text) return otherwise;
  if (*text == "true" || *text == "1" || *text == "yes") return true;
  if (*text == "false" || *text == "0" || *text == "no") return false;
  return fail(Code::invalid_argument, fmt::format("scheduler option {}={} is neither true nor false", key, *text));
}

Result<void> Options::done() const {
  if (values_.empty()) return {};
  return fail(Code::invalid_argument, fmt::format("unknown scheduler option '{}' (known: {})", values_.begin()->first,
                                                  known_.empty() ? "none" : fmt::format("{}", fmt::join(known_, ", "))));
}

Result<void> Registry::add(std::string name, std::string description, Factory factory) {
  if (!is_name(name)) return fail(Code::invalid_argument, fmt::format("'{}' is no name for a scheduler ([a-z0-9_-]+)", name));
  if (entries_.contains(name)) return fail(Code::already_exists, fmt::format("there is a scheduler '{}' already", name));
  entries_.emplace(std::move(name), Entry{std::move(description), std::move(factory)});
  return {};
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : entries_) all.push_back(name);
  return all;
}

Result<std::unique_ptr<Scheduler>> Registry::make(std::string_view text) const {
  text = trimmed(text);
  std::string_view list;
  std::string_view name = text;
  if (const auto open = text.find('('); open != std::string_view::npos) {
    if (text.back() != ')') return fail(Code::invalid_argument, fmt::format("scheduler '{}' lacks the closing parenthesis", text));
    name = trimmed(text.substr(0, open));
    list = text.substr(open + 1, text.size() - open - 2);
  }
  auto found = entries_.find(std::string(name));
  if (found == entries_.end()) {
    return fail(Code::invalid_argument, fmt::format("unknown scheduler '{}' (known: {})", name, fmt::join(names(), ", ")));
  }
  WEFT_ASSIGN(auto values, parse_options(list));
  Options options(std::move(values));
  auto made = found->second.factory(options);
  if (!made) return fail(std::move(made).error().wrap(fmt::format("scheduler '{}'", name)));
  if (auto rest = options.done(); !rest) return fail(std::move(rest).error().wrap(fmt::format("scheduler '{}'", name)));
  return made;
}

}  // namespace weft::sched

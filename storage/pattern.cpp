#include "storage/pattern.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/text.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kMostAlternatives = 16384;
constexpr std::string_view kSpecial = "*?[{";

/// The last pair of braces first; what is not closed stays as it is. False when they are too many.
bool expand_braces(const std::string& pattern, std::vector<std::string>& into) {
  const auto open = pattern.rfind('{');
  const auto close = open == std::string::npos ? open : pattern.find('}', open);
  if (close == std::string::npos) {
    into.push_back(pattern);
    return into.size() <= kMostAlternatives;
  }
  const auto words = split(std::string_view(pattern).substr(open + 1, close - open - 1), ',');
  return std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    return expand_braces(pattern.substr(0, open) + std::string(word) + pattern.substr(close + 1), into);
  });
}

std::vector<std::string> names_of(std::string_view path) {
  std::vector<std::string> names;
  for (const std::string_view name : split(path, '/')) names.emplace_back(name);
  return names;
}

/// How many of the names the pattern matches from their beginning, 0 when none: the fewest.
std::size_t matched(std::span<const std::string> pattern, std::span<const std::string> names) {
  if (pattern.empty()) return 0;
  std::size_t done = 0;
  for (; !pattern.empty() && pattern.front() != "**"; pattern = pattern.subspan(1), ++done) {
    if (done == names.size() || ::fnmatch(pattern.front().c_str(), names[done].c_str(), FNM_PERIOD) != 0) return 0;
  }
  if (pattern.empty()) return done;
  if (pattern.size() == 1) return done < names.size() ? names.size() : 0;  // all below
  for (std::size_t skip = done; skip < names.size(); ++skip) {
    if (const std::size_t more = matched(pattern.subspan(1), names.subspan(skip)); more != 0) return skip + more;
    if (names[skip].starts_with('.') || names[skip].starts_with('_')) return 0;
  }
  return 0;
}

/// Whether names behind these may be what the rest of the pattern matches.
bool leads_on(std::span<const std::string> pattern, std::span<const std::string> names) {
  for (; !pattern.empty() && !names.empty(); pattern = pattern.subspan(1), names = names.subspan(1)) {
    if (pattern.front() == "**") {
      if (leads_on(pattern.subspan(1), names)) return true;
      const auto skipped = [](const std::string& name) { return name.starts_with('.') || name.starts_with('_'); };
      return std::none_of(names.begin(), names.end(), skipped);
    }
    if (::fnmatch(pattern.front().c_str(), names.front().c_str(), FNM_PERIOD) != 0) return false;
  }
  return !pattern.empty();
}

}  // namespace

bool is_pattern(std::string_view path) { return path.find_first_of(kSpecial) != std::string_view::npos; }

std::string_view fixed_prefix(std::string_view pattern) {
  const std::string_view fixed = pattern.substr(0, pattern.find_first_of(kSpecial));
  const auto slash = fixed.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : fixed.substr(0, slash + 1);
}

Result<std::vector<std::string>> without_braces(const std::string& pattern) {
  std::vector<std::string> expanded;
  if (expand_braces(pattern, expanded)) return expanded;
  return fail(
      Code::invalid_argument,
      fmt::format(
          "the braces of the pattern {} stand for more than {} patterns; write * for some of them, or give several patterns",
          escaped(pattern), kMostAlternatives));
}

Result<Pattern> Pattern::parse(const std::string& pattern) {
  WEFT_ASSIGN(const auto patterns, without_braces(pattern));
  Pattern parsed;
  for (const std::string& one : patterns) parsed.alternatives_.push_back(names_of(one));
  return parsed;
}

std::size_t Pattern::match(const std::string& key) const {
  const std::vector<std::string> names = names_of(key);
  for (const auto& pattern : alternatives_) {
    const std::size_t count = matched(pattern, names);
    if (count == 0) continue;
    std::size_t end = 0;
    for (std::size_t i = 0; i < count; ++i) end += names[i].size() + (i == 0 ? 0 : 1);
    return end;
  }
  return std::string::npos;
}

bool Pattern::leads_below(const std::string& directory) const {
  const std::vector<std::string> names = names_of(directory);
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const auto& pattern) { return leads_on(pattern, names); });
}

}  // namespace weft::storage

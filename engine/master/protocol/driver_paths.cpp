#include "engine/master/protocol/driver_paths.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "storage/scheme.hpp"

namespace weft::client {
namespace {

constexpr std::size_t kLongestPath = 4096;

/// Of a local file, without the file:// that may be in front. Empty: it is no path of this machine.
std::string_view path_of(std::string_view word) {
  if (word.starts_with('-')) {
    const std::size_t equals = word.find('=');
    word = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  }
  const bool local = word.starts_with(storage::kFileScheme) || word.find("://") == std::string_view::npos;
  const bool path =
      local && !word.empty() && word.size() <= kLongestPath && !word.starts_with('-') && word.find('\0') == std::string_view::npos;
  if (path && word.starts_with(storage::kFileScheme)) word.remove_prefix(storage::kFileScheme.size());
  return path ? word : std::string_view();
}

/// Local paths that are given for an option, which takes one value, or all words up to the next option.
std::vector<std::string> values_of(std::string_view option, bool several, const std::vector<std::string>& words) {
  std::vector<std::string> values;
  bool takes = false;  // the next word
  for (const std::string_view word : words) {
    const bool begins = word.starts_with('-');
    const bool named = word.starts_with(option) && (word.size() == option.size() || word[option.size()] == '=');
    if (const std::string_view path = path_of(word); !path.empty() && (begins ? named : takes)) values.emplace_back(path);
    if (begins)
      takes = word == option;
    else
      takes = takes && several;
  }
  return values;
}

}  // namespace

std::vector<std::string> paths_in(const std::vector<std::string>& words, const std::string& directory) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    const std::string_view path = path_of(word);
    if (path.empty()) continue;
    std::string absolute = (std::filesystem::path(directory) / path).lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), absolute) == paths.end()) paths.push_back(std::move(absolute));
    if (paths.size() == kMostDriverPaths) break;
  }
  return paths;
}

std::vector<std::string> inputs_in(const std::vector<std::string>& words) { return values_of("--input", true, words); }

bool need_directory(const std::vector<std::string>& words) {
  const auto relative = [](const std::string& path) { return !path.starts_with('/'); };
  for (const auto& values : {inputs_in(words), values_of("--output", false, words), values_of("--stats", false, words)})
    if (std::any_of(values.begin(), values.end(), relative)) return true;
  return false;
}

}  // namespace weft::client

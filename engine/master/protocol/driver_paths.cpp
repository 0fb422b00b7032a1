#include "engine/master/protocol/driver_paths.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace weft::client {
namespace {

constexpr std::size_t kLongestPath = 4096;

/// Empty: it is no path.
std::string_view path_of(std::string_view word) {
  if (word.starts_with('-')) {
    const std::size_t equals = word.find('=');
    word = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  }
  const bool path = !word.empty() && word.size() <= kLongestPath && !word.starts_with('-') &&
                    word.find("://") == std::string_view::npos && word.find('\0') == std::string_view::npos;
  return path ? word : std::string_view();
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

}  // namespace weft::client

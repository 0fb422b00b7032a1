#include "storage/namespace/path.hpp"

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::storage {
namespace {

tl::unexpected<Error> refused(std::string_view path, std::string_view why) {
  constexpr std::size_t kShown = 200;
  const std::string shown = escaped(path.substr(0, kShown)) + (path.size() > kShown ? "…" : "");
  return fail(Code::invalid_argument, fmt::format("path '{}' {}", shown, why));
}

}  // namespace

Result<std::string> parse_path(std::string_view written) {
  std::string path(written);
  if (is_cluster_path(written)) {
    path.erase(0, kScheme.size());
    if (!path.starts_with('/')) path.insert(0, 1, '/');
  }
  if (path.empty()) return refused(written, "is empty; name one like /data/words");
  if (path.front() != '/') return refused(written, "is not absolute; it begins with / or weft://");
  if (path.size() > kLongestPath) return refused(written, fmt::format("is longer than {} bytes", kLongestPath));
  if (path.find('\0') != std::string::npos) return refused(written, "holds a zero byte");
  if (path == "/") return path;
  for (const std::string_view name : split(std::string_view(path).substr(1), '/')) {
    if (name.empty()) return refused(written, "holds an empty name (// or a / at its end)");
    if (name == "." || name == "..") return refused(written, "holds . or ..; write the path they lead to");
    if (name.size() > kLongestName) return refused(written, fmt::format("holds a name longer than {} bytes", kLongestName));
  }
  return path;
}

std::vector<std::string_view> names_of(std::string_view path) {
  if (path.size() <= 1) return {};
  return split(path.substr(1), '/');
}

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? std::string_view("/") : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  path += name;
  return path;
}

}  // namespace weft::storage

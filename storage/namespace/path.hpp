// Paths of the namespace: absolute and normal, "/" or "/a/b". Users may write them as URLs, weft://a/b or weft:///a/b.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::storage {

inline constexpr std::size_t kLongestPath = 4096;
inline constexpr std::size_t kLongestName = 255;
inline constexpr std::string_view kScheme = "weft://";

/// Whether a job's input or output names a path of the namespace.
inline bool is_cluster_path(std::string_view written) { return written.starts_with(kScheme); }

/// "/a/b" from any way of writing it. invalid_argument names the path and what is wrong: empty, relative, too long, with "." or
/// "..", with empty names or a zero byte.
Result<std::string> parse_path(std::string_view written);

/// The names of a parsed path; none for "/". Views of it.
std::vector<std::string_view> names_of(std::string_view path);
/// "/a" of "/a/b"; "/" of "/a" and of "/".
std::string_view parent_of(std::string_view path);
/// "b" of "/a/b"; empty for "/".
std::string_view name_of(std::string_view path);
/// "/a/b" of "/a" and "b".
std::string joined(std::string_view directory, std::string_view name);

}  // namespace weft::storage

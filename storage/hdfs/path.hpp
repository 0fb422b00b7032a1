// How URLs name files of HDFS.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::storage::hdfs {

/// "hdfs://authority/path" or "webhdfs://authority/path".
struct HdfsPath {
  std::string scheme;     // with "://", as it was written
  std::string authority;  // host, host:port or the name of a nameservice; may be empty
  std::string path;       // begins with a slash, and ends with one when it is the root only
};

/// Removes repeated slashes and a slash at the end. Names are taken as they are, nothing in them is decoded.
/// invalid_argument when there is no path, a name is "." or "..", or the path is longer than HDFS allows.
Result<HdfsPath> parse_hdfs(std::string_view url);
std::string url_of(const HdfsPath& path);
/// The path of a name in the directory.
HdfsPath below(const HdfsPath& directory, std::string_view name);
/// The directory that it is in; the root's is the root.
HdfsPath parent_of(const HdfsPath& path);
std::string_view name_of(const HdfsPath& path);

}  // namespace weft::storage::hdfs

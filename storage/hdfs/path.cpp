#include "storage/hdfs/path.hpp"

#include "base/text.hpp"

namespace weft::storage::hdfs {
namespace {

constexpr std::size_t kLongestPath = 8000;

}  // namespace

Result<HdfsPath> parse_hdfs(std::string_view url) {
  HdfsPath path;
  for (const std::string_view scheme : {"hdfs://", "webhdfs://"})
    if (url.starts_with(scheme)) path.scheme = scheme;
  if (path.scheme.empty()) return fail(Code::invalid_argument, escaped(url) + " is no hdfs:// or webhdfs:// URL");
  const std::string_view rest = url.substr(path.scheme.size());
  const auto slash = rest.find('/');
  path.authority = rest.substr(0, slash);
  if (rest.size() > kLongestPath)
    return fail(Code::invalid_argument, "the path " + escaped(url.substr(0, 100)) + "… has more than 8000 bytes");
  if (slash == std::string_view::npos && path.authority.empty())
    return fail(Code::invalid_argument, escaped(url) + " names neither a NameNode nor a path; URLs are hdfs://HOST:PORT/PATH");
  for (const std::string_view name : split(slash == std::string_view::npos ? std::string_view() : rest.substr(slash), '/')) {
    if (name.empty()) continue;
    if (name == "." || name == "..")
      return fail(Code::invalid_argument, escaped(url) + ": HDFS knows no names '.' and '..'; write the path without them");
    path.path.append("/").append(name);
  }
  if (path.path.empty()) path.path = "/";
  return path;
}

std::string url_of(const HdfsPath& path) { return path.scheme + path.authority + path.path; }

HdfsPath below(const HdfsPath& directory, std::string_view name) {
  HdfsPath path = directory;
  if (!path.path.ends_with('/')) path.path += '/';
  path.path += name;
  return path;
}

HdfsPath parent_of(const HdfsPath& path) {
  HdfsPath parent = path;
  parent.path.resize(path.path.rfind('/'));
  if (parent.path.empty()) parent.path = "/";
  return parent;
}

std::string_view name_of(const HdfsPath& path) { return std::string_view(path.path).substr(path.path.rfind('/') + 1); }

}  // namespace weft::storage::hdfs

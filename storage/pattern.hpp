// Glob patterns on names that no file system of this machine knows (keys, files of HDFS and of the cluster): "*", "?", "[…]",
// "{a,b}", and "**" for any number of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::storage {

bool is_pattern(std::string_view path);
/// The directory that all matches are in, with its slash: what comes before the first name with a special character.
std::string_view fixed_prefix(std::string_view pattern);

/// The pattern once for each word of its braces: "a" and "b" for "{a,b}". invalid_argument: they are more than 16,384.
Result<std::vector<std::string>> without_braces(const std::string& pattern);

/// A pattern, ready for many keys. Any thread.
class Pattern {
 public:
  /// Errors: without_braces().
  static Result<Pattern> parse(const std::string& pattern);
  /// How many bytes of the key the pattern matches: all, or up to a slash when it matches a directory above; npos when neither
  /// does. Names that begin with '.' are matched by a '.' in the pattern only.
  std::size_t match(const std::string& key) const;
  /// Whether it may match something below a directory.
  bool leads_below(const std::string& directory) const;

 private:
  std::vector<std::vector<std::string>> alternatives_;  // without braces, by name
};

}  // namespace weft::storage

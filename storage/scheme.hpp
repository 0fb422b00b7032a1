// What paths of inputs and outputs have in front: "x://".
#pragma once

#include <string_view>

namespace weft::storage {

/// Of paths of this machine, which have it or nothing.
inline constexpr std::string_view kFileScheme = "file://";

/// Whether a path looks like a URL, of whatever scheme: "x://y".
inline bool has_scheme(std::string_view path) {
  const auto scheme = path.find("://");
  return scheme != std::string_view::npos && path.find('/') == scheme + 1;
}

}  // namespace weft::storage

#include "base/attributes.hpp"

#include <string_view>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft {

Result<std::map<std::string, std::string>> parse_attributes(std::span<const std::string> attributes) {
  std::map<std::string, std::string> parsed;
  for (const std::string_view attribute : attributes) {
    const auto equals = attribute.find('=');
    const std::string name(trim(attribute.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty())
      return fail(Code::invalid_argument, fmt::format("attribute '{}' is not of the form NAME=VALUE", escaped(attribute)));
    if (!parsed.emplace(name, trim(attribute.substr(equals + 1))).second)
      return fail(Code::invalid_argument, fmt::format("attribute {} is given twice", escaped(name)));
  }
  return parsed;
}

}  // namespace weft

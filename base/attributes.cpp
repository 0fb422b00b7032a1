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

bool has_attribute(const std::map<std::string, std::string>& attributes, std::string_view wanted) {
  const auto equals = wanted.find('=');
  const auto found = attributes.find(std::string(wanted.substr(0, equals)));
  return found != attributes.end() && (equals == std::string_view::npos || found->second == wanted.substr(equals + 1));
}

}  // namespace weft

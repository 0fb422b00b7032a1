// What a machine tells of itself beside amounts, for schedulers: NAME=VALUE.
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/result.hpp"

namespace weft {

/// By name, blanks around both cut off; invalid_argument for what is not NAME=VALUE, or is there twice.
Result<std::map<std::string, std::string>> parse_attributes(std::span<const std::string> attributes);

}  // namespace weft

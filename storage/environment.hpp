// Variables that settings of stores come from.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

namespace weft::storage {

/// The value of a variable, if it is set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Those of this process.
inline std::optional<std::string> environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace weft::storage

// Facts about a machine, for schedulers, that are not amounts: NAME=VALUE.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft {

/// The attribute of nodes with accelerators: its value is their kind.
inline constexpr std::string_view kAcceleratorAttribute = "accelerator";

/// Returns the values by name, without blanks around either. invalid_argument for a text that is not NAME=VALUE, and for a name
/// that is given twice.
Result<std::map<std::string, std::string>> parse_attributes(std::span<const std::string> attributes);

/// Whether there is one of that name, or of that name and value: "accelerator", "accelerator=gpu".
bool has_attribute(const std::map<std::string, std::string>& attributes, std::string_view wanted);

}  // namespace weft

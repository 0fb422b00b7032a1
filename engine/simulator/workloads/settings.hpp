// "key=value,key=value" as given after a workload's name, with commas and parentheses inside values: class=small(weight=2,maps=8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::simulator::workloads {

/// Cuts at the commas outside parentheses. invalid_argument for parentheses that do not match.
Result<std::vector<std::string>> split_settings(std::string_view text);

/// "name(inside)" or "name"; invalid_argument for anything else.
struct Call {
  std::string name;
  std::vector<std::string> arguments;  // cut as above
};
Result<Call> parse_call(std::string_view text);

}  // namespace weft::simulator::workloads

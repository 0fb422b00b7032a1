// "key=value,key=value" as given after a workload's name, with commas and parentheses inside values: class=small(weight=2,maps=8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"

namespace weft::simulator::workloads {

/// Cuts at the commas outside parentheses. invalid_argument for parentheses that do not match.
Result<std::vector<std::string>> split_settings(std::string_view text);
/// Assigns each of them, up to the first error.
Result<void> assign(const std::vector<std::string>& settings, Config& config);
/// Refuses any, as assign() does one with an unknown key.
Result<void> assign_none(const std::vector<std::string>& settings);

/// "name(inside)" or "name"; invalid_argument for anything else.
struct Call {
  std::string name;
  std::vector<std::string> arguments;  // cut as above
};
Result<Call> parse_call(std::string_view text);

}  // namespace weft::simulator::workloads

#include "engine/simulator/workloads/settings.hpp"

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::simulator::workloads {

Result<std::vector<std::string>> split_settings(std::string_view text) {
  std::vector<std::string> parts;
  if (trim(text).empty()) return parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth < 0) break;
    if (text[i] != ',' || depth > 0) continue;
    parts.emplace_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (depth != 0) return fail(Code::invalid_argument, fmt::format("the parentheses of '{}' do not match", escaped(text)));
  parts.emplace_back(trim(text.substr(begin)));
  return parts;
}

Result<void> assign(const std::vector<std::string>& settings, Config& config) {
  for (const auto& setting : settings) WEFT_TRY(config.set(setting));
  return {};
}

Result<void> assign_none(const std::vector<std::string>& settings) {
  Config config;
  return assign(settings, config);
}

Result<Call> parse_call(std::string_view text) {
  text = trim(text);
  const std::size_t open = text.find('(');
  Call call{std::string(trim(text.substr(0, open))), {}};
  if (open != std::string_view::npos) {
    if (text.back() != ')') return fail(Code::invalid_argument, fmt::format("'{}' must end with ')'", escaped(text)));
    WEFT_ASSIGN(call.arguments, split_settings(text.substr(open + 1, text.size() - open - 2)));
  }
  if (call.name.empty()) return fail(Code::invalid_argument, fmt::format("'{}' has no name before '('", escaped(text)));
  return call;
}

}  // namespace weft::simulator::workloads

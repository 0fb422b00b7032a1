#include "schedulers/view/resources.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

/// Whole numbers of bytes with a unit, where that is exact.
std::string format_amount(const ResourceKind& kind, double amount) {
  const bool whole = amount >= 0 && amount < 9e15 && std::floor(amount) == amount;
  return kind.bytes && whole ? format_size(static_cast<std::uint64_t>(amount)) : fmt::format("{}", amount);
}

Result<double> parse_amount(const ResourceKind& kind, std::string_view text) {
  if (const auto number = parse_number<double>(text)) {
    if (*number >= 0 && *number <= 1e300) return *number;
    return fail(Code::invalid_argument, fmt::format("{}={} must be finite and not negative", kind.name, escaped(text)));
  }
  if (!kind.bytes) return fail(Code::invalid_argument, fmt::format("{}={} is not a number", kind.name, escaped(text)));
  auto size = parse_size(text);
  if (!size) return fail(std::move(size).error().wrap(std::string(kind.name)));
  return static_cast<double>(*size);
}

}  // namespace

std::string to_string(const Resources& resources) {
  std::string text;
  for (const auto& kind : kResourceKinds) {
    if (resources.*kind.amount == 0) continue;
    if (!text.empty()) text += ',';
    text += fmt::format("{}={}", kind.name, format_amount(kind, resources.*kind.amount));
  }
  return text.empty() ? "cpu=0" : text;
}

Result<Resources> parse_resources(std::string_view text) {
  Resources resources;
  std::vector<std::string> names;
  for (const auto& kind : kResourceKinds) names.emplace_back(kind.name);
  std::array<bool, kResourceKinds.size()> given{};
  for (std::string_view part : split(text, ',')) {
    const auto equals = std::min(part.find('='), part.size());
    const std::string_view name = trim(part.substr(0, equals));
    const auto kind = std::find_if(kResourceKinds.begin(), kResourceKinds.end(), [name](const auto& k) { return k.name == name; });
    if (equals == part.size() || kind == kResourceKinds.end()) {
      return fail(Code::invalid_argument,
                  fmt::format("'{}' is no amount of a resource (write for example cpu=1,memory=512MiB; known: {})",
                              escaped(trim(part)), join(names, ", ")));
    }
    bool& before = given[static_cast<std::size_t>(kind - kResourceKinds.begin())];
    if (std::exchange(before, true)) return fail(Code::invalid_argument, fmt::format("{} is given twice", name));
    WEFT_ASSIGN(resources.*kind->amount, parse_amount(*kind, trim(part.substr(equals + 1))));
  }
  return resources;
}

Result<void> from_text(std::string_view text, Resources& resources) {
  WEFT_ASSIGN(resources, parse_resources(text));
  return {};
}

}  // namespace weft::schedulers

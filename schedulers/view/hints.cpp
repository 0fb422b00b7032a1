#include "schedulers/view/hints.hpp"

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

constexpr double kMostRatio = 1e12, kMostHintedWeight = 1e6;

Result<double> number_within(std::string_view text, double least, double most) {
  const auto number = parse_number<double>(text);
  if (number && *number >= least && *number <= most) return *number;
  return fail(Code::invalid_argument, fmt::format("'{}' is not a number from {} to {}", escaped(text), least, most));
}

struct Hint {
  std::string_view key;
  std::function<Result<void>(std::string_view, JobHints&, Time&)> set;
  std::function<std::optional<std::string>(const JobHints&)> text;
};

Hint ratio(std::string_view key, std::optional<double> JobHints::*member) {
  return {key,
          [member](std::string_view text, JobHints& hints, Time&) -> Result<void> {
            WEFT_ASSIGN(hints.*member, number_within(text, 0, kMostRatio));
            return {};
          },
          [member](const JobHints& hints) {
            return hints.*member ? std::optional(fmt::format("{}", *(hints.*member))) : std::nullopt;
          }};
}

Hint profile(std::string_view key, std::optional<Resources> JobHints::*member) {
  return {key,
          [member](std::string_view text, JobHints& hints, Time&) -> Result<void> {
            WEFT_ASSIGN(hints.*member, parse_resources(text));
            return {};
          },
          [member](const JobHints& hints) { return hints.*member ? std::optional(to_string(*(hints.*member))) : std::nullopt; }};
}

const std::array<Hint, 7>& known_hints() {
  static const std::array<Hint, 7> kHints{Hint{"weight",
                                               [](std::string_view text, JobHints& hints, Time&) -> Result<void> {
                                                 WEFT_ASSIGN(hints.weight, number_within(text, 1e-9, kMostHintedWeight));
                                                 return {};
                                               },
                                               [](const JobHints&) { return std::nullopt; }},
                                          Hint{"deadline",
                                               [](std::string_view text, JobHints&, Time& deadline) -> Result<void> {
                                                 WEFT_ASSIGN(const Time time, parse_duration(text));
                                                 if (time <= Time(0))
                                                   return fail(Code::invalid_argument,
                                                               "a deadline lies after the submission: more than 0");
                                                 deadline = time;
                                                 return {};
                                               },
                                               [](const JobHints&) { return std::nullopt; }},
                                          ratio("relative_reduce_cost", &JobHints::relative_reduce_cost),
                                          ratio("shuffle_ratio", &JobHints::shuffle_ratio),
                                          profile("map_profile", &JobHints::map_profile),
                                          profile("shuffle_profile", &JobHints::shuffle_profile),
                                          profile("reduce_profile", &JobHints::reduce_profile)};
  return kHints;
}

}  // namespace

Result<void> set_hint(std::string_view key, std::string_view value, JobHints& hints, Time& deadline) {
  std::vector<std::string> names;
  for (const Hint& hint : known_hints()) {
    if (hint.key == key) {
      auto set = hint.set(value, hints, deadline);
      if (!set) return fail(std::move(set).error().wrap(fmt::format("hint {}", key)));
      return {};
    }
    names.emplace_back(hint.key);
  }
  const std::string_view near = nearest(key, names);
  return fail(Code::invalid_argument, fmt::format("there is no hint '{}'{}; known are {}", escaped(key),
                                                  near.empty() ? "" : fmt::format(", did you mean {}?", near), join(names, ", ")));
}

Result<std::pair<std::string, std::string>> parse_hint(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos)
    return fail(Code::invalid_argument, fmt::format("'{}' is no hint; write key=value, such as shuffle_ratio=0.4", escaped(text)));
  std::pair<std::string, std::string> hint(trim(text.substr(0, equals)), trim(text.substr(equals + 1)));
  JobHints ignored;
  Time deadline{0};
  WEFT_TRY(set_hint(hint.first, hint.second, ignored, deadline));
  return hint;
}

Result<void> set_hints(const std::map<std::string, std::string>& texts, JobHints& hints, Time& deadline) {
  for (const auto& [key, value] : texts) WEFT_TRY(set_hint(key, value, hints, deadline));
  return {};
}

std::map<std::string, std::string> hint_texts(const JobHints& hints) {
  std::map<std::string, std::string> texts;
  for (const Hint& hint : known_hints())
    if (auto text = hint.text(hints)) texts.emplace(hint.key, std::move(*text));
  return texts;
}

}  // namespace weft::schedulers

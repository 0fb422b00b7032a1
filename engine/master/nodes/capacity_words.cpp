#include "engine/master/nodes/capacity_words.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {
namespace {

using schedulers::kResourceKinds;
using schedulers::Resources;

constexpr std::size_t kMostLevels = 96;

/// The line without its comment.
std::string_view content(std::string_view line) { return trim(line.substr(0, line.find('#'))); }

std::size_t kind_named(std::string_view name) {
  if (name == "slots") name = "cpu";
  const auto found =
      std::find_if(kResourceKinds.begin(), kResourceKinds.end(), [name](const auto& kind) { return kind.name == name; });
  return static_cast<std::size_t>(found - kResourceKinds.begin());
}

Result<void> add_word(std::string_view word, CapacityWords& words) {
  if (word == "nominal") {
    for (std::size_t kind = 0; kind < kResourceKinds.size(); ++kind) words[kind].reset();
    return {};
  }
  const auto equals = std::min(word.find('='), word.size());
  const std::size_t kind = kind_named(word.substr(0, equals));
  if (equals == word.size() || kind == kResourceKinds.size())
    return fail(
        Code::invalid_argument,
        fmt::format("'{}' is no amount of a worker's capacity (write for example slots=2,memory=4GiB, or nominal)", escaped(word)));
  if (words.contains(kind)) return fail(Code::invalid_argument, fmt::format("{} is given twice", kResourceKinds[kind].name));
  const std::string_view amount = word.substr(equals + 1);
  if (amount == "nominal") {
    words[kind].reset();
    return {};
  }
  WEFT_ASSIGN(const Resources parsed, schedulers::parse_resources(fmt::format("{}={}", kResourceKinds[kind].name, amount)));
  const double value = parsed.*kResourceKinds[kind].amount;
  if (value == 0 && kind != kind_named("cpu") && kind != kind_named("accelerator"))
    return fail(Code::invalid_argument, fmt::format("{} would stand for an amount that is not accounted for; slots=0 gives the "
                                                    "worker no tasks",
                                                    word));
  words[kind] = value;
  return {};
}

Result<Duration> parse_hour(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto hours = parse_number<unsigned>(text.substr(0, colon));
  const auto minutes = colon == text.size() ? std::nullopt : parse_number<unsigned>(text.substr(colon + 1));
  if (!hours || !minutes || *hours > 23 || *minutes > 59 || text.size() - colon != 3)
    return fail(Code::invalid_argument, fmt::format("'{}' is no hour of a day (write for example 09:30)", escaped(text)));
  return Duration(std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

Result<DayLevel> parse_level(std::string_view line) {
  const auto blank = line.find_first_of(" \t");
  DayLevel level;
  WEFT_ASSIGN(level.from, parse_hour(line.substr(0, blank)));
  const std::string_view amount = blank == std::string_view::npos ? std::string_view() : trim(line.substr(blank));
  if (amount.empty()) return fail(Code::invalid_argument, "the hour has no level (write for example 09:30 50%)");
  if (!amount.ends_with('%')) {
    WEFT_ASSIGN(level.words, parse_capacity_words(amount));
    return level;
  }
  const auto percent = parse_number<double>(amount.substr(0, amount.size() - 1));
  if (!percent || !(*percent >= 0 && *percent <= 100))
    return fail(Code::invalid_argument, fmt::format("'{}' is not between 0% and 100%", escaped(amount)));
  level.part = *percent / 100;
  return level;
}

}  // namespace

Result<schedulers::Resources> parse_offer(std::string_view text) {
  auto given = schedulers::parse_resources(std::string(text));
  if (!given) return fail(std::move(given).error().wrap("the worker's capacity"));
  if (given->cpu != 0) return fail(Code::invalid_argument, "a worker's cpu is its slots; say --slots instead of --capacity cpu=…");
  if (given->map_slots != 0 || given->reduce_slots != 0)
    return fail(Code::invalid_argument,
                "map_slots and reduce_slots are of simulated clusters; say --slots: a worker's run both kinds of tasks");
  return given;
}

Result<CapacityWords> parse_capacity_words(std::string_view text) {
  CapacityWords words;
  for (const std::string_view line : split(text, '\n')) {
    std::string_view rest = content(line);
    while (!rest.empty()) {
      const auto end = std::min(rest.find_first_of(", \t\r"), rest.size());
      if (end > 0) WEFT_TRY(add_word(rest.substr(0, end), words));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (words.empty()) return fail(Code::invalid_argument, "it names no amount (write for example slots=2,memory=4GiB, or nominal)");
  return words;
}

std::string to_text(const CapacityWords& words) {
  std::vector<std::string> parts;
  for (const auto& [kind, amount] : words) {
    if (amount) parts.push_back(fmt::format("{}={}", kResourceKinds[kind].name, *amount));
  }
  return join(parts, ",");
}

Resources limited(const Resources& capacity, const CapacityWords& words) {
  Resources left = capacity;
  for (const auto& [kind, amount] : words) {
    double& of_kind = left.*kResourceKinds[kind].amount;
    if (amount) of_kind = std::min(of_kind, *amount);
  }
  return left;
}

Result<std::vector<DayLevel>> parse_forecast(std::string_view text) {
  std::vector<DayLevel> levels;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view said = content(line);
    if (said.empty()) continue;
    auto level = parse_level(said);
    if (!level) return fail(std::move(level).error().wrap(fmt::format("line {}", number)));
    if (!levels.empty() && level->from <= levels.back().from)
      return fail(Code::invalid_argument, fmt::format("line {}: hours must be ascending", number));
    levels.push_back(std::move(*level));
  }
  if (levels.empty()) return fail(Code::invalid_argument, "it has no line (write for example 09:30 50%)");
  if (levels.size() > kMostLevels) return fail(Code::invalid_argument, fmt::format("more than {} lines", kMostLevels));
  return levels;
}

std::vector<schedulers::CapacityStep> forecast_steps(const std::vector<DayLevel>& levels, const Resources& nominal,
                                                     schedulers::Time now, Duration time_of_day, Duration horizon) {
  std::vector<schedulers::CapacityStep> steps;
  if (levels.empty()) return steps;
  const auto add = [&](schedulers::Time from, const DayLevel& level) {
    const Resources available = limited(nominal * level.part, level.words);
    if (steps.empty() || steps.back().available != available) steps.push_back({from, available});
  };
  const auto later = std::find_if(levels.begin(), levels.end(), [&](const DayLevel& level) { return level.from > time_of_day; });
  add(now, later == levels.begin() ? levels.back() : *std::prev(later));
  for (Duration midnight = -time_of_day; midnight <= horizon; midnight += kDay) {
    for (const DayLevel& level : levels) {
      if (const Duration in = midnight + level.from; in > Duration(0) && in <= horizon) add(now + in, level);
    }
  }
  return steps;
}

}  // namespace weft::master

// What people and programs say of a worker's capacity: amounts, and levels by the hour of a day.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::master {

/// What a worker offers besides its slots. invalid_argument: it is no amounts of resources, or names cpu (its slots) or typed
/// slots, which are of simulated clusters.
Result<schedulers::Resources> parse_offer(std::string_view text);

/// By the index of kResourceKinds, the largest amount of it; no amount: what the worker joined with. Kinds that are not
/// named stay as they are.
using CapacityWords = std::map<std::size_t, std::optional<double>>;

/// "slots=2,memory=4GiB" (slots are cpu), "memory=nominal", or "nominal" for all kinds. Blanks, commas and ends of lines separate;
/// # begins a comment. invalid_argument says which part is wrong.
Result<CapacityWords> parse_capacity_words(std::string_view text);

/// The amounts among them, as parse_capacity_words() reads them.
std::string to_text(const CapacityWords& words);

/// What `words` leave of a capacity: of each kind that it accounts for, no more than they say.
schedulers::Resources limited(const schedulers::Resources& capacity, const CapacityWords& words);

inline constexpr Duration kDay = std::chrono::hours(24);

/// From `from` after midnight on, every day: a part of everything, or the amounts that are named.
struct DayLevel {
  Duration from{0};
  double part = 1;
  CapacityWords words{};
};

/// Lines of "HH:MM LEVEL", ascending, where LEVEL is "50%" or amounts as above; # begins a comment. Before the first line the last
/// one counts. An error names the line.
Result<std::vector<DayLevel>> parse_forecast(std::string_view text);

/// The next `horizon` of these days, for a worker of that capacity, at `now`, which is `time_of_day` after midnight. The first step
/// is what counts now.
std::vector<schedulers::CapacityStep> forecast_steps(const std::vector<DayLevel>& levels, const schedulers::Resources& nominal,
                                                     schedulers::Time now, Duration time_of_day, Duration horizon);

}  // namespace weft::master

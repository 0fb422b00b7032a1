// Points of time in the reasons that schedulers give. A scheduler knows no calendar: it writes a point of the master's time as
// "@<nanoseconds>ns", and programs that show the reason replace it by the time of day.
#pragma once

#include <charconv>
#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

inline std::string point_of_time(Time at) { return fmt::format("@{}ns", at.count()); }

/// The text with "12:03:10", in local time, for each point of time. `now`: the master's time at `clock`. All other text is
/// unchanged.
inline std::string with_times_of_day(std::string_view text, Time now, std::chrono::system_clock::time_point clock) {
  std::string shown;
  for (auto at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    shown += text.substr(0, at);
    std::int64_t count = 0;
    const auto [end, error] = std::from_chars(text.data() + at + 1, text.data() + text.size(), count);
    const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc() || !rest.starts_with("ns")) {
      shown += '@';
      text.remove_prefix(at + 1);
      continue;
    }
    const auto moment = clock + std::chrono::duration_cast<std::chrono::system_clock::duration>(Time(count) - now);
    const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
    std::tm day{};
    if (localtime_r(&seconds, &day) != nullptr) shown += fmt::format("{:02}:{:02}:{:02}", day.tm_hour, day.tm_min, day.tm_sec);
    text = rest.substr(2);
  }
  return shown.append(text);
}

}  // namespace weft::schedulers

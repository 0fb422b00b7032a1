#include "weft/time.hpp"

#include <chrono>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "base/iso_time.hpp"

namespace weft {
namespace {

struct CalendarDay {
  int year;
  unsigned month, day;
};

/// Of any number of days. The calendar of std::chrono has 16 bits for years and wraps beyond, but that of Gregory repeats itself
/// every 400 years.
CalendarDay calendar(Date date) {
  constexpr int kCycle = 146'097;  // days
  const int cycles = date.days / kCycle;
  const std::chrono::year_month_day found{std::chrono::sys_days(std::chrono::days(date.days % kCycle))};
  return {static_cast<int>(found.year()) + cycles * 400, static_cast<unsigned>(found.month()), static_cast<unsigned>(found.day())};
}

}  // namespace

Date Date::of(int year, unsigned month, unsigned day) {
  // Before std::chrono has them, which keeps 16 bits of a year and eight of the others.
  const bool fits = year >= static_cast<int>(std::chrono::year::min()) && year <= static_cast<int>(std::chrono::year::max()) &&
                    month <= 12 && day <= 31;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!fits || !date.ok()) throw std::invalid_argument(fmt::format("Date::of: there is no day {}-{}-{}", year, month, day));
  return {static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count())};
}
int Date::year() const { return calendar(*this).year; }
unsigned Date::month() const { return calendar(*this).month; }
unsigned Date::day() const { return calendar(*this).day; }

Timestamp Timestamp::of(Date date, std::int64_t seconds_of_day) {
  std::int64_t begin = 0, passed = 0, time = 0;
  if (__builtin_mul_overflow(std::int64_t{date.days}, kDay, &begin) ||
      __builtin_mul_overflow(seconds_of_day, std::int64_t{1'000'000}, &passed) || __builtin_add_overflow(begin, passed, &time))
    throw std::invalid_argument(
        fmt::format("Timestamp::of: microseconds cannot hold {} days and {} seconds since 1970", date.days, seconds_of_day));
  return {time};
}
Date Timestamp::date() const { return {static_cast<std::int32_t>(microseconds / kDay - (microseconds % kDay < 0 ? 1 : 0))}; }
std::int64_t Timestamp::microseconds_of_day() const {
  const std::int64_t passed = microseconds % kDay;
  return passed < 0 ? passed + kDay : passed;
}

bool parse_time(std::string_view text, Date& value) {
  const auto days = days_in(text);
  if (days) value.days = *days;
  return days.has_value();
}

bool parse_time(std::string_view text, Timestamp& value) {
  const auto microseconds = microseconds_in(text);
  if (microseconds) value.microseconds = *microseconds;
  return microseconds.has_value();
}

void LineFormat<Date>::append(std::string& line, Date value) {
  if (value.days < -12'687'428 || value.days > 11'248'737) {  // not among those of Date::of()
    fmt::format_to(std::back_inserter(line), "day {}", value.days);
    return;
  }
  const CalendarDay date = calendar(value);
  fmt::format_to(std::back_inserter(line), "{:04}-{:02}-{:02}", date.year, date.month, date.day);
}

void LineFormat<Timestamp>::append(std::string& line, Timestamp value) {
  LineFormat<Date>::append(line, value.date());
  const std::int64_t passed = value.microseconds_of_day(), seconds = passed / 1'000'000, fraction = passed % 1'000'000;
  fmt::format_to(std::back_inserter(line), "T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction != 0) {
    fmt::format_to(std::back_inserter(line), ".{:06}", fraction);
    line.erase(line.find_last_not_of('0') + 1);
  }
  line.push_back('Z');
}

}  // namespace weft

#include "weft/time.hpp"

#include <chrono>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "base/iso_time.hpp"

namespace weft {
namespace {

std::chrono::year_month_day calendar(Date date) {
  return std::chrono::year_month_day{std::chrono::sys_days(std::chrono::days(date.days))};
}

}  // namespace

Date Date::of(int year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok()) throw std::invalid_argument(fmt::format("Date::of: there is no day {}-{}-{}", year, month, day));
  return {static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count())};
}
int Date::year() const { return static_cast<int>(calendar(*this).year()); }
unsigned Date::month() const { return static_cast<unsigned>(calendar(*this).month()); }
unsigned Date::day() const { return static_cast<unsigned>(calendar(*this).day()); }

Date Timestamp::date() const { return {static_cast<std::int32_t>(microseconds / kDay - (microseconds % kDay < 0 ? 1 : 0))}; }

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
  // The calendar of std::chrono has 16 bits for years.
  if (value.days < -12'687'428 || value.days > 11'248'737) {
    fmt::format_to(std::back_inserter(line), "day {}", value.days);
    return;
  }
  const auto date = calendar(value);
  fmt::format_to(std::back_inserter(line), "{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()));
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

#include "weft/time.hpp"

#include <chrono>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

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

/// Reads from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  bool take(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// Exactly that many digits.
  std::optional<unsigned> number(std::size_t digits) {
    unsigned value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (text_.empty() || text_.front() < '0' || text_.front() > '9') return std::nullopt;
      value = value * 10 + static_cast<unsigned>(text_.front() - '0');
      text_.remove_prefix(1);
    }
    return value;
  }
  /// Exactly that many digits, whose number is at most `most`.
  std::optional<unsigned> number(std::size_t digits, unsigned most) {
    const auto value = number(digits);
    return value && *value <= most ? value : std::nullopt;
  }
  /// One to nine digits behind a second, as microseconds.
  std::optional<unsigned> fraction() {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; !text_.empty() && text_.front() >= '0' && text_.front() <= '9'; ++digits, text_.remove_prefix(1))
      if (digits < 6) value = value * 10 + static_cast<unsigned>(text_.front() - '0');
    if (digits == 0 || digits > 9) return std::nullopt;
    for (; digits < 6; ++digits) value *= 10;
    return value;
  }

 private:
  std::string_view text_;
};

std::optional<std::int32_t> take_date(Scanner& in) {
  const auto year = in.number(4);
  if (!year || !in.take('-')) return std::nullopt;
  const auto month = in.number(2);
  if (!month || !in.take('-')) return std::nullopt;
  const auto day = in.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
}

/// Microseconds since midnight: "04:40", "04:40:27", "04:40:27.5".
std::optional<std::int64_t> take_time(Scanner& in) {
  const auto hour = in.number(2, 23);
  if (!hour || !in.take(':')) return std::nullopt;
  const auto minute = in.number(2, 59);
  if (!minute) return std::nullopt;
  std::optional<unsigned> second = 0, fraction = 0;
  if (in.take(':')) {
    second = in.number(2, 59);
    if (second && in.take('.')) fraction = in.fraction();
  }
  if (!second || !fraction) return std::nullopt;
  return (std::int64_t{*hour} * 3600 + *minute * 60 + *second) * 1'000'000 + *fraction;
}

/// What the zone is ahead of UTC, in minutes: nothing, "Z", "+01:00", "+0100", "+01".
std::optional<std::int64_t> take_zone(Scanner& in) {
  if (in.empty() || in.take('Z')) return 0;
  const bool behind = in.take('-');
  if (!behind && !in.take('+')) return std::nullopt;
  const auto hours = in.number(2, 23);
  if (!hours) return std::nullopt;
  std::optional<unsigned> minutes = 0;
  if (in.take(':') || !in.empty()) minutes = in.number(2, 59);
  if (!minutes) return std::nullopt;
  const std::int64_t ahead = std::int64_t{*hours} * 60 + *minutes;
  return behind ? -ahead : ahead;
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
  Scanner in(text);
  const auto days = take_date(in);
  if (!days || !in.empty()) return false;
  value.days = *days;
  return true;
}

bool parse_time(std::string_view text, Timestamp& value) {
  Scanner in(text);
  const auto days = take_date(in);
  if (!days) return false;
  std::optional<std::int64_t> time = 0, ahead = 0;
  if (in.take('T') || in.take(' ')) {
    time = take_time(in);
    if (time) ahead = take_zone(in);
  }
  if (!time || !ahead || !in.empty()) return false;
  value.microseconds = *days * Timestamp::kDay + *time - *ahead * 60'000'000;
  return true;
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

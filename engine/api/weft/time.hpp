// Days and moments, as fields of rows (CSV, JSON, Parquet), as keys and as values.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/text.hpp"

namespace weft {

/// A day of the Gregorian calendar. As text "2026-11-28", in Parquet a date.
struct Date {
  std::int32_t days = 0;  // since 1970-01-01

  /// The years are -32767 to 32767. std::invalid_argument when there is no such day.
  static Date of(int year, unsigned month, unsigned day);
  // Of any number of days, also beyond those years.
  int year() const;
  unsigned month() const;
  unsigned day() const;
  friend auto operator<=>(const Date&, const Date&) = default;
};

/// A moment in UTC. As text "2026-11-28T04:40:27.5Z", in Parquet a timestamp.
struct Timestamp {
  std::int64_t microseconds = 0;  // since 1970-01-01T00:00:00Z

  /// std::invalid_argument when 64 bits of microseconds, 292,000 years, cannot hold it.
  static Timestamp of(Date date, std::int64_t seconds_of_day = 0);
  /// The day that it is in, and what has passed of that.
  Date date() const;
  std::int64_t microseconds_of_day() const;
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;

  static constexpr std::int64_t kDay = 86'400'000'000;
};

// False, and `value` as it was, when the text is none. Years have four digits.
/// "2026-11-28"
bool parse_time(std::string_view text, Date& value);
/// A date; with a time behind "T" or a space: "04:40", seconds and up to nine digits of them (rounded down to microseconds), and
/// the zone, "Z" or "+01:00". Without a zone it is UTC.
bool parse_time(std::string_view text, Timestamp& value);

/// "2026-11-28", "-044-03-15", "12026-11-28"; a day beyond the years of Date::of() is "day 20000000". Only years of four digits are
/// read.
template <>
struct LineFormat<Date> {
  static void append(std::string& line, Date value);
};
template <>
struct LineFormat<Timestamp> {
  static void append(std::string& line, Timestamp value);
};

namespace detail {

template <class T>
concept TimeField = std::same_as<T, Date> || std::same_as<T, Timestamp>;
inline std::int32_t& number_of(Date& date) { return date.days; }
inline std::int64_t& number_of(Timestamp& time) { return time.microseconds; }

}  // namespace detail
}  // namespace weft

#include "storage/parquet/arrow/times.hpp"

#include <chrono>

#include <arrow/type.h>
#include <fmt/format.h>

namespace weft::storage::parquet {
namespace {

/// Of the unit.
std::int64_t in_a_second(::arrow::TimeUnit::type unit) {
  switch (unit) {
    case ::arrow::TimeUnit::SECOND:
      return 1;
    case ::arrow::TimeUnit::MILLI:
      return 1'000;
    case ::arrow::TimeUnit::MICRO:
      return 1'000'000;
    default:
      return 1'000'000'000;
  }
}

std::int64_t divided(std::int64_t value, std::int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

}  // namespace

std::optional<std::int64_t> microseconds(std::int64_t value, ::arrow::TimeUnit::type unit) {
  if (unit == ::arrow::TimeUnit::NANO) return divided(value, 1'000);
  std::int64_t result = 0;
  return __builtin_mul_overflow(value, 1'000'000 / in_a_second(unit), &result) ? std::nullopt : std::optional(result);
}

std::int64_t days_of_milliseconds(std::int64_t value) { return divided(value, 86'400'000); }

std::string text_of_day(std::int64_t days) {
  // The calendar of std::chrono has 16 bits for years.
  if (days < -12'687'428 || days > 11'248'737) return fmt::format("day {}", days);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

std::string text_of_time(std::int64_t value, ::arrow::TimeUnit::type unit, bool utc) {
  const std::int64_t scale = in_a_second(unit);
  const std::int64_t seconds = divided(value, scale), fraction = value - seconds * scale;
  const std::int64_t days = divided(seconds, 86'400), second = seconds - days * 86'400;
  std::string text = fmt::format("{}T{:02}:{:02}:{:02}", text_of_day(days), second / 3600, second / 60 % 60, second % 60);
  if (fraction != 0) {
    std::string digits = fmt::format("{:09}", fraction * (1'000'000'000 / scale));
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return utc ? text + "Z" : text;
}

}  // namespace weft::storage::parquet

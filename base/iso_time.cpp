#include "base/iso_time.hpp"

#include <chrono>

namespace weft {
namespace {

constexpr std::int64_t kDay = 86'400'000'000;  // in microseconds

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

std::optional<std::int32_t> days_in(std::string_view text) {
  Scanner in(text);
  const auto days = take_date(in);
  return in.empty() ? days : std::nullopt;
}

std::optional<std::int64_t> microseconds_in(std::string_view text) {
  Scanner in(text);
  const auto days = take_date(in);
  if (!days) return std::nullopt;
  std::optional<std::int64_t> time = 0, ahead = 0;
  if (in.take('T') || in.take(' ')) {
    time = take_time(in);
    if (time) ahead = take_zone(in);
  }
  if (!time || !ahead || !in.empty()) return std::nullopt;
  return *days * kDay + *time - *ahead * 60'000'000;
}

}  // namespace weft

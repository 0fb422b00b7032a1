// Not strptime(): it knows no parts of a second, takes terminated texts only, and follows the locale of the process.
// std::chrono::parse() is not in this compiler's library.
#include "weft/detail/time_format.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace weft::detail {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"January", "February", "March",     "April",   "May",      "June",
                                                   "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kKnown = "YymbBdHIpMSfzsFT%";

constexpr std::int64_t kDaySeconds = 86'400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool same_letters(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

/// What stands for a composed word; empty for others.
std::string_view composed(char word) { return word == 'F' ? "%Y-%m-%d" : word == 'T' ? "%H:%M:%S" : std::string_view(); }

/// Reads a text by a format.
class FormReader {
 public:
  explicit FormReader(std::string_view text) : text_(text) {}

  bool read(std::string_view format) {
    for (std::size_t at = 0; at < format.size(); ++at) {
      if (format[at] != '%') {
        if (!take(format[at])) return false;
        continue;
      }
      const char word = format[++at];
      if (const auto parts = composed(word); !parts.empty() ? !read(parts) : !read_word(word)) return false;
    }
    return true;
  }
  bool at_end() const { return text_.empty(); }
  /// Nothing: there is no such day.
  std::optional<std::int64_t> microseconds() const { return epoch_ ? since_epoch() : of_calendar(ahead_); }
  /// Of the day that is written, whatever its zone.
  std::optional<std::int64_t> days() const {
    if (epoch_) return *epoch_ / kDaySeconds - (*epoch_ % kDaySeconds < 0 ? 1 : 0);
    const auto time = of_calendar(0);
    return time ? std::optional<std::int64_t>(Timestamp{*time}.date().days) : std::nullopt;
  }

 private:
  bool take(char wanted) {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool number(std::size_t least, std::size_t most, unsigned low, unsigned high, unsigned& value) {
    std::size_t digits = 0;
    unsigned found = 0;
    while (digits < most && digits < text_.size() && is_digit(text_[digits]))
      found = found * 10 + static_cast<unsigned>(text_[digits++] - '0');
    if (digits < least || found < low || found > high) return false;
    text_.remove_prefix(digits);
    value = found;
    return true;
  }
  bool read_word(char word) {
    unsigned value = 0;
    switch (word) {
      case 'Y':
        if (!number(4, 4, 0, 9999, value)) return false;
        year_ = static_cast<int>(value);
        return true;
      case 'y':
        if (!number(2, 2, 0, 99, value)) return false;
        year_ = static_cast<int>(value) + (value < 69 ? 2000 : 1900);
        return true;
      case 'm':
        return number(1, 2, 1, 12, month_);
      case 'd':
        return number(1, 2, 1, 31, day_);
      case 'b':
      case 'B':
        return month();
      case 'H':
        return number(1, 2, 0, 23, hour_);
      case 'I':
        return number(1, 2, 1, 12, hour_);
      case 'M':
        return number(1, 2, 0, 59, minute_);
      case 'S':
        return number(1, 2, 0, 59, second_);
      case 'p':
        return half_of_day();
      case 'f':
        return fraction();
      case 'z':
        return zone();
      case 's':
        return epoch();
      default:
        return take('%');
    }
  }
  bool month() {
    for (unsigned i = 0; i < kMonths.size(); ++i) {
      for (const std::string_view name : {kMonths[i], kMonths[i].substr(0, 3)}) {
        if (!same_letters(text_.substr(0, name.size()), name)) continue;
        text_.remove_prefix(name.size());
        month_ = i + 1;
        return true;
      }
    }
    return false;
  }
  bool half_of_day() {
    const std::string_view half = text_.substr(0, 2);
    if (!same_letters(half, "am") && !same_letters(half, "pm")) return false;
    pm_ = same_letters(half, "pm");
    text_.remove_prefix(2);
    return true;
  }
  bool fraction() {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; !text_.empty() && is_digit(text_.front()); ++digits, text_.remove_prefix(1))
      if (digits < 6) value = value * 10 + static_cast<unsigned>(text_.front() - '0');
    if (digits == 0 || digits > 9) return false;
    for (; digits < 6; ++digits) value *= 10;
    micro_ = value;
    return true;
  }
  bool zone() {
    if (take('Z')) return true;
    const bool behind = take('-');
    unsigned hours = 0, minutes = 0;
    if ((!behind && !take('+')) || !number(2, 2, 0, 23, hours)) return false;
    if ((take(':') || (!text_.empty() && is_digit(text_.front()))) && !number(2, 2, 0, 59, minutes)) return false;
    const int ahead = static_cast<int>(hours * 60 + minutes);
    ahead_ = behind ? -ahead : ahead;
    return true;
  }
  /// `ahead`: the minutes of the zone.
  std::optional<std::int64_t> of_calendar(int ahead) const {
    const std::chrono::year_month_day date{std::chrono::year(year_), std::chrono::month(month_), std::chrono::day(day_)};
    if (!date.ok()) return std::nullopt;
    unsigned hour = hour_;
    if (pm_) hour = hour % 12 + (*pm_ ? 12 : 0);
    const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
    const std::int64_t minutes = std::int64_t{hour} * 60 + minute_ - ahead;
    return days * Timestamp::kDay + (minutes * 60 + second_) * 1'000'000 + micro_;
  }
  /// Nothing: 64 bits of microseconds cannot hold it. The first second that they reach is there in part, so it counts from its end.
  std::optional<std::int64_t> since_epoch() const {
    const bool before = *epoch_ < 0;
    std::int64_t time = 0;
    if (__builtin_mul_overflow(*epoch_ + (before ? 1 : 0), std::int64_t{1'000'000}, &time) ||
        __builtin_add_overflow(time, std::int64_t{micro_} - (before ? 1'000'000 : 0), &time))
      return std::nullopt;
    return time;
  }
  bool epoch() {
    constexpr std::size_t kMostDigits = 15;  // of the days that a Date can have
    const bool before = take('-');
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits <= kMostDigits && !text_.empty() && is_digit(text_.front()); ++digits, text_.remove_prefix(1))
      value = value * 10 + (text_.front() - '0');
    epoch_ = before ? -value : value;
    return digits > 0 && digits <= kMostDigits;
  }

  std::string_view text_;
  int year_ = 1970, ahead_ = 0;
  unsigned month_ = 1, day_ = 1, hour_ = 0, minute_ = 0, second_ = 0, micro_ = 0;
  std::optional<bool> pm_;
  std::optional<std::int64_t> epoch_;
};

/// `passed`: microseconds of the day.
void append_word(std::string& line, char word, Date date, std::int64_t passed) {
  const auto out = std::back_inserter(line);
  const std::int64_t seconds = passed / 1'000'000, hour = seconds / 3600;
  if (word == 'Y') fmt::format_to(out, "{:04}", date.year());
  if (word == 'y') fmt::format_to(out, "{:02}", (date.year() % 100 + 100) % 100);
  if (word == 'm') fmt::format_to(out, "{:02}", date.month());
  if (word == 'd') fmt::format_to(out, "{:02}", date.day());
  if (word == 'b') line.append(kMonths[date.month() - 1].substr(0, 3));
  if (word == 'B') line.append(kMonths[date.month() - 1]);
  if (word == 'H') fmt::format_to(out, "{:02}", hour);
  if (word == 'I') fmt::format_to(out, "{:02}", (hour + 11) % 12 + 1);
  if (word == 'p') line.append(hour < 12 ? "AM" : "PM");
  if (word == 'M') fmt::format_to(out, "{:02}", seconds / 60 % 60);
  if (word == 'S') fmt::format_to(out, "{:02}", seconds % 60);
  if (word == 'f') fmt::format_to(out, "{:06}", passed % 1'000'000);
  if (word == 'z') line.append("+0000");
  if (word == 's') fmt::format_to(out, "{}", date.days * kDaySeconds + seconds);
  if (word == '%') line.push_back('%');
}

void append_form(std::string& line, std::string_view format, Date date, std::int64_t passed) {
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      line.push_back(format[at]);
      continue;
    }
    const char word = format[++at];
    if (const auto parts = composed(word); !parts.empty())
      append_form(line, parts, date, passed);
    else
      append_word(line, word, date, passed);
  }
}

}  // namespace

void check_time_format(std::string_view format, const std::string& what) {
  std::string words;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') continue;
    const std::string_view word = format.substr(at++, 2);
    if (word.size() < 2 || kKnown.find(word[1]) == std::string_view::npos)
      throw std::invalid_argument(
          fmt::format("{}: '{}' has '{}', but known are %Y %y %m %b %B %d %H %I %p %M %S %f %z %s %F %T %%", what, format, word));
    words.append(composed(word[1]).empty() ? word.substr(1) : word[1] == 'F' ? "Ymd" : "HMS");
  }
  const auto any = [&](std::string_view of) { return words.find_first_of(of) != std::string::npos; };
  if (!any("s") && !(any("Yy") && any("mbB") && any("d")))
    throw std::invalid_argument(
        fmt::format("{}: '{}' does not say which day is meant: it needs %Y, %m and %d, or %s", what, format));
  if (any("I") != any("p")) throw std::invalid_argument(fmt::format("{}: '{}' has only one of %I and %p", what, format));
}

bool parse_time(std::string_view text, std::string_view format, Timestamp& value) {
  FormReader in(text);
  if (!in.read(format) || !in.at_end()) return false;
  const auto time = in.microseconds();
  if (time) value.microseconds = *time;
  return time.has_value();
}

bool parse_time(std::string_view text, std::string_view format, Date& value) {
  FormReader in(text);
  if (!in.read(format) || !in.at_end()) return false;
  const auto days = in.days();
  if (!days || *days != static_cast<std::int32_t>(*days)) return false;
  value.days = static_cast<std::int32_t>(*days);
  return true;
}

void append_time(std::string& line, std::string_view format, Date value) { append_form(line, format, value, 0); }
void append_time(std::string& line, std::string_view format, Timestamp value) {
  append_form(line, format, value.date(), value.microseconds_of_day());
}

}  // namespace weft::detail

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "base/printable.hpp"

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 14> kSizes{{{"", 1},
                                       {"B", 1},
                                       {"KiB", 1ULL << 10},
                                       {"MiB", 1ULL << 20},
                                       {"GiB", 1ULL << 30},
                                       {"TiB", 1ULL << 40},
                                       {"K", 1ULL << 10},
                                       {"M", 1ULL << 20},
                                       {"G", 1ULL << 30},
                                       {"T", 1ULL << 40},
                                       {"kB", 1'000},
                                       {"MB", 1'000'000},
                                       {"GB", 1'000'000'000},
                                       {"TB", 1'000'000'000'000}}};

constexpr std::array<Unit, 8> kDurations{{{"ns", 1},
                                          {"us", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"h", 3'600'000'000'000},
                                          {"d", 86'400'000'000'000}}};

/// number × unit, exact for integers; nothing when malformed, negative or above `limit`.
std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units, std::uint64_t limit) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = text.substr(0, digits);
  const auto name = trim(text.substr(digits));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  if (unit == units.end()) return std::nullopt;
  if (const auto whole = parse_number<std::uint64_t>(number)) {
    if (*whole > limit / unit->factor) return std::nullopt;
    return *whole * unit->factor;
  }
  const auto real = parse_number<double>(number);
  if (!real) return std::nullopt;
  const double product = *real * static_cast<double>(unit->factor);
  if (product >= static_cast<double>(limit)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(product));
}

std::string format_exactly(std::uint64_t value, std::span<const Unit> largest_first) {
  for (const auto& unit : largest_first) {
    if (value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
  }
  return {};
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  if (const auto value = parse_quantity(text, kSizes, std::numeric_limits<std::int64_t>::max())) return *value;
  return fail(Code::invalid_argument, fmt::format("'{}' is not a size (write for example 65536, 64KiB, 1.5GiB)", escaped(text)));
}

Result<Duration> parse_duration(std::string_view text) {
  if (trim(text) == "0") return Duration{0};
  const auto value = parse_quantity(text, kDurations, std::numeric_limits<std::int64_t>::max());
  if (value) return Duration(static_cast<Duration::rep>(*value));
  return fail(Code::invalid_argument,
              fmt::format("'{}' is not a duration (write for example 250ms, 5s, 1.5min, 2h)", escaped(text)));
}

std::string format_size(std::uint64_t bytes) {
  if (bytes == 0) return "0B";
  constexpr std::array<Unit, 5> units{{kSizes[5], kSizes[4], kSizes[3], kSizes[2], kSizes[1]}};
  return format_exactly(bytes, units);
}

std::string format_duration(Duration duration) {
  if (duration.count() == 0) return "0s";
  if (duration.count() < 0) return fmt::format("-{}", format_duration(-duration));
  constexpr std::array<Unit, 6> units{{kDurations[6], kDurations[5], kDurations[3], kDurations[2], kDurations[1], kDurations[0]}};
  return format_exactly(static_cast<std::uint64_t>(duration.count()), units);
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, names[unit]);
}

std::string human_duration(Duration duration) {
  if (duration < Duration{0}) return fmt::format("-{}", human_duration(-duration));
  const double seconds_real = in_seconds(duration);
  if (seconds_real < 0.9995) return fmt::format("{:.0f} ms", seconds_real * 1000);
  if (seconds_real < 59.95) return fmt::format("{:.1f} s", seconds_real);
  const auto whole = std::chrono::round<std::chrono::seconds>(duration).count();
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const auto& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text[0] == '\\' || text[0] == '"') out += '\\';
    text.remove_prefix(append_printable(out, text));
  }
  return out;
}

}  // namespace weft

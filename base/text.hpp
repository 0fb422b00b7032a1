// Numbers, sizes and durations as people write them, and a few things one does with words.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft {

/// The whole of `text` as a decimal number; nothing when it is anything else or out of range.
template <class T>
requires std::integral<T> || std::floating_point<T> std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "65536", "64KiB", "64 MiB", "1.5GiB", "10 kB" (units B, KiB…TiB, kB…TB; K, M, G, T mean KiB…TiB). invalid_argument names the
/// form.
Result<std::uint64_t> parse_size(std::string_view text);
/// "250ms", "5s", "1.5min", "2h" (ns, us, ms, s, min, m, h, d), "0". invalid_argument names the form.
Result<Duration> parse_duration(std::string_view text);

/// Exact and parsable: "64MiB", "1500B".
std::string format_size(std::uint64_t bytes);
/// Exact and parsable: "5s", "1500ms", "0s".
std::string format_duration(Duration duration);

/// For people, three digits: "1.21 GiB", "640 KiB", "17 B".
std::string human_bytes(std::uint64_t bytes);
/// For people: "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min".
std::string human_duration(Duration duration);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

/// Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The candidate the writer probably meant; empty when none is near.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

/// Control characters, quotes and backslashes as \n, \t, \\, \", \xNN: fits on one line of a log.
std::string escaped(std::string_view text);

}  // namespace weft

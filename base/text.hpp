// Numbers, sizes and durations as people write them, and a few functions on words. All are pure; any thread may call them.
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

/// Parses all of `text` as a decimal number. Returns nothing when it is anything else or out of range.
template <class T>
requires std::integral<T> || std::floating_point<T> std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Parses a size and returns bytes: "65536", "64KiB", "64 MiB", "1.5GiB", "10 kB" (units B, KiB…TiB, kB…TB; K, M, G, T mean
/// KiB…TiB). Otherwise invalid_argument with a message that shows the form.
Result<std::uint64_t> parse_size(std::string_view text);
/// Parses a duration: "250ms", "5s", "1.5min", "2h" (ns, us, ms, s, min, m, h, d), "0". Otherwise invalid_argument with a message
/// that shows the form.
Result<Duration> parse_duration(std::string_view text);

/// Formats exactly, so that parse_size() returns the same: "64MiB", "1500B".
std::string format_size(std::uint64_t bytes);
/// Formats exactly, so that parse_duration() returns the same: "5s", "1500ms", "0s".
std::string format_duration(Duration duration);

/// Formats for people, with three digits: "1.21 GiB", "640 KiB", "17 B".
std::string human_bytes(std::uint64_t bytes);
/// Formats for people: "850 ms", "12.3 s", "4 min 05 s", "2 h 03 min".
std::string human_duration(Duration duration);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

/// Returns the Levenshtein distance in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// Returns the candidate that the writer probably meant, or an empty text when none is near.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

/// Returns `text` with control characters, quotes and backslashes as \n, \t, \\, \", \xNN, so that it fits on one line of a log.
std::string escaped(std::string_view text);

}  // namespace weft

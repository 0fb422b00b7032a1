// Days and moments as ISO 8601 writes them. Pure; any thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

// Nothing, when the text is none. Years have four digits.
/// Days since 1970-01-01, of "2026-11-28".
std::optional<std::int32_t> days_in(std::string_view text);
/// Microseconds since 1970-01-01T00:00:00Z, of a date; or with a time behind "T" or a space: "04:40", seconds and up to nine digits
/// of them (rounded down to microseconds), and the zone, "Z" or "+01:00". Without a zone it is UTC.
std::optional<std::int64_t> microseconds_in(std::string_view text);

}  // namespace weft

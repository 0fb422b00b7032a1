// Days and moments as numbers of one unit, and as text. Private to libweft-parquet.so.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

namespace weft::storage::parquet {

/// Rounded down, before 1970 too. Nothing: 64 bits do not hold that number of microseconds.
std::optional<std::int64_t> microseconds(std::int64_t value, ::arrow::TimeUnit::type unit);
/// What stands for a value that has none: it is less, or greater, than all that have.
inline std::int64_t farthest(std::int64_t value) {
  return value < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
/// Rounded down, too.
std::int64_t days_of_milliseconds(std::int64_t value);
/// "2026-11-28"
std::string text_of_day(std::int64_t days_since_1970);
/// "2026-11-28T04:40:27", with as many digits behind the second as there are, and "Z" where it is of UTC.
std::string text_of_time(std::int64_t value, ::arrow::TimeUnit::type unit, bool utc);

}  // namespace weft::storage::parquet

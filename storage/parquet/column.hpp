// Rows as columns: what a program's struct wants of a Parquet file, and values in the few forms that its fields have. Apache
// Arrow's many types are behind storage/parquet/module.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::storage::parquet {

enum class Kind : std::uint8_t { boolean, signed_number, unsigned_number, real_number, text, list, record };

/// Whether a signed number stands for a day (since 1970) or a moment (in microseconds since then).
enum class Calendar : std::uint8_t { none, day, moment };

/// A field of a struct, and the column of its name. A record has its members as children, a list its element.
struct Shape {
  std::string name;
  Kind kind = Kind::record;
  std::uint8_t bits = 64;  // of a number: 8 to 64
  bool optional = false;
  std::vector<Shape> children{};
  Calendar calendar = Calendar::none;
};

/// What a row has in a column.
enum class Presence : std::uint8_t {
  missing = 0,
  there = 1,
  // For the 64 bits of its kind: a negative number where an unsigned one is wanted, a time beyond all microseconds.
  too_large = 2,
};

/// Values of consecutive rows. Of the spans only that of the kind has anything; all live until the next batch is asked for.
struct Column {
  std::span<const Presence> presence{};  // by row; empty: all are there
  std::span<const std::uint8_t> booleans{};
  std::span<const std::int64_t> signed_numbers{};
  std::span<const std::uint64_t> unsigned_numbers{};
  std::span<const double> real_numbers{};
  std::span<const std::string_view> texts{};
  /// Of lists: row r has the elements ends[r] to ends[r + 1] of the child.
  std::span<const std::int64_t> ends{};
  std::vector<Column> children{};

  Presence at(std::size_t row) const { return presence.empty() ? Presence::there : presence[row]; }
};

struct Batch {
  std::uint64_t rows = 0;
  std::vector<Column> columns;
  std::span<const std::uint8_t> wanted{};  // by row, whether the conditions hold; empty: all rows
};

enum class Comparison : std::uint8_t { equal, not_equal, less, less_or_equal, greater, greater_or_equal };

/// A column and a value that it is compared with. A missing value is neither less nor equal nor unequal.
struct Condition {
  std::string column;
  Comparison comparison = Comparison::equal;
  Kind kind = Kind::signed_number;  // of the value, which is one of:
  std::int64_t whole = 0;           // of a boolean 0 or 1; it is only equal or unequal
  double real = 0;
  std::string text{};
  std::uint64_t unsigned_whole = 0;
};

}  // namespace weft::storage::parquet

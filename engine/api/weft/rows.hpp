// What read_csv, read_json, read_parquet and their counterparts take. Their records are plain structs, whose fields are columns (or
// members) of the same name: numbers, bool, std::string, and std::optional of these where a value may be missing; in JSON and
// Parquet also plain structs and vectors of all that.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/parquet/column.hpp"
#include "weft/time.hpp"

namespace weft {

struct CsvFormat {
  char delimiter = ',';
  /// Around fields that contain delimiters, quotes or line ends. A quote in a field has `escape` before it: as RFC 4180 has it, a
  /// second quote. Otherwise that character before a quote or before itself stands for what is behind it, in quotes only.
  char quote = '"';
  char escape = '"';
  /// The first line of each file names its columns; fields find theirs by name. Otherwise the columns are the fields in their
  /// order.
  bool header = true;
  /// Without a header: the names of the files' columns, if they are not those of the fields. Of pairs and tuples that are written:
  /// the names of the columns, one for each part (parts that are pairs or tuples count with their own).
  std::vector<std::string> columns = {};
  /// Fields whose column has another name: {{"price", "Price in EUR"}}.
  std::map<std::string, std::string> names = {};
  /// Fields that are days or moments in another form than ISO 8601: {{"day", "%d.%m.%Y"}}. The form has the words of strptime():
  /// %Y %y %m %b %B %d %H %I %p %M %S %f %z %s %F %T %%.
  std::map<std::string, std::string> times = {};
  /// Texts that mean that the value is missing, quoted or not. Such a value is written as the empty text if that is one of them or
  /// if there are none, otherwise as the first. A value whose text is one of them is written as it is, and is missing when it is
  /// read again: choose texts that no value has.
  std::vector<std::string> missing = {""};
  /// Spaces and tabs around numbers, truth values, days, moments and all optional values are ignored, quoted or not.
  bool trim = false;
  /// Quoted fields may contain line ends. Then each file is read by one task, because in the middle of a file it is impossible to
  /// know whether a line's end is quoted. Otherwise a line that ends inside of quotes fails the job, unless it is the last of its
  /// file and has no line end: then it is a bad record.
  bool multiline = false;
  /// Directories "year=2026" give the field `year` of all rows below them its value, whatever the files have in a column of that
  /// name. The words of `missing` count there, too.
  bool hive_partitions = true;
  /// Only files in directories for which all of these hold are read: {column("year") == 2026}. Each names such a directory.
  std::vector<storage::parquet::Condition> where = {};
};

struct JsonFormat {
  /// Fields whose member has another name, each its own.
  std::map<std::string, std::string> names = {};
  // As of CsvFormat.
  bool hive_partitions = true;
  std::vector<storage::parquet::Condition> where = {};
};

/// A column of a Parquet file, or of the directories that files are in, to be compared with a number, a text, a Date, a Timestamp
/// (which stand for their texts) or, by == and != only, a truth value.
class ParquetColumn {
 public:
  explicit ParquetColumn(std::string name) : name_(std::move(name)) {}
  using Comparison = storage::parquet::Comparison;
  using Condition = storage::parquet::Condition;

  template <class V>
  friend Condition operator==(const ParquetColumn& column, const V& value) {
    return column.compared(Comparison::equal, value);
  }
  template <class V>
  friend Condition operator!=(const ParquetColumn& column, const V& value) {
    return column.compared(Comparison::not_equal, value);
  }
  template <class V>
  friend Condition operator<(const ParquetColumn& column, const V& value) {
    return column.ordered(Comparison::less, value);
  }
  template <class V>
  friend Condition operator<=(const ParquetColumn& column, const V& value) {
    return column.ordered(Comparison::less_or_equal, value);
  }
  template <class V>
  friend Condition operator>(const ParquetColumn& column, const V& value) {
    return column.ordered(Comparison::greater, value);
  }
  template <class V>
  friend Condition operator>=(const ParquetColumn& column, const V& value) {
    return column.ordered(Comparison::greater_or_equal, value);
  }

 private:
  template <class V>
  Condition ordered(Comparison comparison, const V& value) const {
    static_assert(!std::same_as<V, bool>, "weft column: a truth value is compared by == or !=");
    return compared(comparison, value);
  }
  template <class V>
  Condition compared(Comparison comparison, const V& value) const {
    static_assert(std::integral<V> || std::floating_point<V> || detail::TimeField<V> || std::convertible_to<const V&, std::string>,
                  "weft column: it is compared with a number, a text, a Date, a Timestamp or a truth value");
    Condition condition{name_, comparison};
    if constexpr (std::same_as<V, bool>) {
      condition.kind = storage::parquet::Kind::boolean;
      condition.whole = value ? 1 : 0;
    } else if constexpr (std::unsigned_integral<V>) {
      condition.kind = storage::parquet::Kind::unsigned_number;
      condition.unsigned_whole = value;
    } else if constexpr (std::integral<V>) {
      condition.whole = static_cast<std::int64_t>(value);
    } else if constexpr (std::floating_point<V>) {
      condition.kind = storage::parquet::Kind::real_number;
      condition.real = static_cast<double>(value);
    } else {
      condition.kind = storage::parquet::Kind::text;
      if constexpr (detail::TimeField<V>)
        LineFormat<V>::append(condition.text, value);
      else
        condition.text = value;
    }
    return condition;
  }
  std::string name_;
};
/// column("price") >= 10
inline ParquetColumn column(std::string name) { return ParquetColumn(std::move(name)); }

struct ParquetFormat {
  /// Fields whose column has another name.
  std::map<std::string, std::string> names = {};
  /// Only rows for which all of these hold are read: {column("year") == 2026, column("price") >= 10}. Row groups of which the file
  /// says that they have no such row are skipped. A missing value meets no condition. Days and times compare with numbers (days
  /// since 1970, microseconds since then) and with texts that a Timestamp is read from ("2026-11-28", "2026-11-28T04:40:27.5Z"):
  /// a day as its midnight.
  std::vector<storage::parquet::Condition> where = {};
  /// As of CsvFormat. `where` names directories or columns: files in directories that do not meet it are not opened.
  bool hive_partitions = true;
  /// Of files that are written: none, snappy, gzip, lz4 or zstd.
  std::string compression = "zstd";
  /// Of files that are written, before they are encoded: what one task reads at least, and what a writer keeps in memory.
  std::uint64_t row_group_bytes = 64u << 20;
  /// Of files that are written: the columns by which the rows of each file are sorted, {"day", "price desc"}. It is noted in the
  /// files, so that readers need not sort. Missing values are the smallest. Rows in another order fail the job.
  std::vector<std::string> sorted_by = {};
};

}  // namespace weft

// What operators of rows and files check, as checks.hpp does for the others.
#pragma once

#include "weft/detail/call.hpp"
#include "weft/detail/csv.hpp"
#include "weft/detail/json.hpp"
#include "weft/detail/parquet.hpp"
#include "weft/text.hpp"

namespace weft::detail {

template <class T>
constexpr bool check_write_text() {
  static_assert(LineFormattable<T>,
                "weft write_text: nothing says how these records (T below) become lines: text, numbers, pairs, tuples, "
                "optionals, vectors and plain structs of those do; map() them to one of these, or specialise "
                "weft::LineFormat<T> with static void append(std::string& line, const T& value)");
  return LineFormattable<T>;
}
template <class T, bool kRaw>
constexpr bool check_write_records() {
  static_assert(
      kRaw,
      "weft write_records: it writes bare bytes, so the records (T below) must be text, or have a fixed size and no padding; "
      "use write_text, or map() them to a std::array or a struct of numbers");
  return kRaw;
}
template <class T>
constexpr bool check_read_csv() {
  static_assert(is_csv_row<T>(),
                "weft read_csv<T>: T must be a plain struct (up to 24 fields) of numbers, bool, dates, times, std::string, "
                "std::string_view, and std::optional of these; read_text and map() read anything else");
  return is_csv_row<T>();
}
template <class T>
constexpr bool check_read_json() {
  static_assert(is_json_row<T>(),
                "weft read_json<T>: T must be a plain struct (up to 24 fields) of numbers, bool, dates, times, std::string, "
                "std::optional and std::vector of these, and such structs; read_text and map() read anything else");
  return is_json_row<T>();
}
template <class T>
constexpr bool check_read_parquet() {
  static_assert(is_parquet_row<T>(),
                "weft read_parquet<T>: T must be a plain struct (up to 24 fields) of numbers, bool, dates, times, std::string, "
                "std::string_view, std::optional and std::vector of these, and such structs");
  return is_parquet_row<T>();
}
template <class T>
constexpr bool check_write_parquet() {
  static_assert(
      is_parquet_row<T>(),
      "weft write_parquet: the records (T below) must be plain structs, whose fields are the columns: numbers, bool, dates, "
      "times, texts, std::optional and std::vector of these, and such structs; map() them to one");
  return is_parquet_row<T>();
}
template <class T>
constexpr bool check_write_csv() {
  static_assert(is_written_as_csv<T>(),
                "weft write_csv: the records (T below) must be plain structs, whose fields are the columns: numbers, bool, dates, "
                "times, texts and std::optional of these, or pairs or tuples of these, with CsvFormat::columns; map() them to one");
  return is_written_as_csv<T>();
}
template <class T>
constexpr bool check_write_json() {
  static_assert(
      is_json_row<T>(),
      "weft write_json: the records (T below) must be plain structs of numbers, bool, dates, times, std::string, std::optional and "
      "std::vector of these, and such structs; map() them to one");
  return is_json_row<T>();
}
template <class T, class F>
constexpr bool check_names() {
  constexpr bool kNames = [] {
    if constexpr (Callable<F, const T&>) return LineFormattable<std::remove_cvref_t<CallResult<F, const T&>>>;
    return false;
  }();
  static_assert(
      kNames,
      "weft write_text_by, write_csv_by, write_json_by, write_parquet_by: the function must take a record of this dataset "
      "(T below) by value or const reference, and return the name of its directory: a text or a number");
  return kNames;
}
template <class T, class F>
constexpr bool check_write_text_by() {
  constexpr bool kNames = check_names<T, F>();
  static_assert(!kNames || LineFormattable<T>,
                "weft write_text_by: nothing says how these records (T below) become lines; see write_text");
  return kNames && LineFormattable<T>;
}
template <class T>
constexpr bool check_flat_record() {
  static_assert(is_flat<T>(),
                "weft read_records<T>: a record has a fixed size and no padding (numbers, std::array, plain structs of those); "
                "give the number of bytes, read_records<100>(paths), for views of them");
  return is_flat<T>();
}

}  // namespace weft::detail

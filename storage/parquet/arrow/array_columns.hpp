// Arrays of Arrow as columns of weft. Private to libweft-parquet.so.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/array.h>

#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// Whether a column of that type can be read as the shape says, members and elements apart: their own types are looked at one by
/// one.
bool fits(const Shape& shape, const ::arrow::DataType& type);

/// The decimal of these digits, `scale` of them behind the point, as the nearest double, which one division gives where both are
/// exact. Nothing: they are not.
std::optional<double> short_decimal(std::int64_t digits, std::int32_t scale);

/// A column and the memory behind it. Used again for every batch.
class ArrayColumn {
 public:
  /// Values that are not copied live as long as the array.
  void take(const Shape& shape, const std::shared_ptr<::arrow::Array>& array);
  const Column& column() const { return column_; }

 private:
  void take_presence(const ::arrow::Array& array);
  void take_booleans(const ::arrow::Array& array);
  void take_numbers(const Shape& shape, const ::arrow::Array& array);
  void take_texts(const ::arrow::Array& array);
  void take_elements(const Shape& shape, const ::arrow::Array& array);
  void take_members(const Shape& shape, const ::arrow::Array& array);
  void take_dictionary(const Shape& shape, const ::arrow::Array& array);
  std::vector<Presence>& presence(std::size_t rows);
  void mark_too_large(std::size_t row);

  template <class ArrayType, class Convert>
  void take_each(const Shape& shape, const ::arrow::Array& array, Convert convert);
  template <class Value>
  void put(const Shape& shape, std::size_t row, Value value);

  std::shared_ptr<::arrow::Array> array_;
  std::vector<Presence> presence_;
  std::vector<std::uint8_t> booleans_;
  std::vector<std::int64_t> signed_;
  std::vector<std::uint64_t> unsigned_;
  std::vector<double> real_;
  std::vector<std::string_view> texts_;
  std::deque<std::string> made_;  // texts that the array does not have as such
  std::vector<std::int64_t> ends_;
  std::vector<ArrayColumn> children_;
  Column column_;
};

}  // namespace weft::storage::parquet

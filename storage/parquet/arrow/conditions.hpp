// Conditions on columns: against what a file says of its row groups, and against rows. Private to libweft-parquet.so.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>

#include "storage/parquet/arrow/array_columns.hpp"
#include "storage/parquet/arrow/bounds.hpp"
#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// A condition on a column of a file. Both see the same values: no row group is excluded that has a row for which it holds.
class Predicate {
 public:
  /// invalid_argument: values of the column cannot be compared with the condition's.
  static Result<Predicate> on(const ::parquet::arrow::SchemaField& column, const Condition& condition, const std::string& path);

  /// The column as it is read for the condition's sake.
  const Shape& shape() const { return shape_; }
  /// Whether a row group's statistics and Bloom filters leave room for rows for which it holds. May throw.
  bool may_hold(::parquet::ParquetFileReader& file, int row_group) const;
  /// The column's values of further rows. May throw.
  void take(const std::shared_ptr<::arrow::Array>& values);
  /// Clears the marks of those rows for which it does not hold.
  void keep_where(std::span<std::uint8_t> wanted) const;

 private:
  Shape shape_;
  Bound bound_;
  std::shared_ptr<::arrow::DataType> type_;
  int column_ = 0;  // of the file's leaves
  ArrayColumn values_;
  std::shared_ptr<::arrow::Array> decimals_;  // in place of `values_`, which has no form for them
};

}  // namespace weft::storage::parquet

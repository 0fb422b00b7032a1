// Conditions on columns: against what a file says of its row groups, and against rows. Private to libweft-parquet.so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/file_reader.h>

#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// The value in the form in which it is compared with values of that type: whole numbers with numbers, ISO texts with days and
/// times.
void adapt(Condition& condition, const ::arrow::DataType& type);
/// A column that is read for the condition's sake.
Shape shape_of(const Condition& condition);

/// Whether a row group's statistics and Bloom filters leave room for rows for which the condition holds. May throw.
bool may_hold(const Condition& condition, ::parquet::ParquetFileReader& file, int row_group);

/// Clears the marks of rows for which it does not hold.
void keep_where(const Condition& condition, const Column& column, std::span<std::uint8_t> wanted);

}  // namespace weft::storage::parquet

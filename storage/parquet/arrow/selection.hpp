// Which columns of a file a struct wants, and whether they are of its types. Private to libweft-parquet.so.
#pragma once

#include <string>
#include <vector>

#include <parquet/arrow/schema.h>

#include "base/result.hpp"
#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// For each child of the row, the place of its column among those of the file; and the leaves to read.
struct Selection {
  std::vector<int> columns;
  std::vector<int> leaves;
};

/// invalid_argument names the file, the column, and both types.
Result<Selection> select(const Shape& row, const ::parquet::arrow::SchemaManifest& file, const std::string& path);

/// "a 32-bit whole number", of a field.
std::string words_of(const Shape& shape);

}  // namespace weft::storage::parquet

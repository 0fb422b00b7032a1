// A Parquet file that is read through Arrow. Private to libweft-parquet.so.
#pragma once

#include "storage/parquet/arrow/status.hpp"
#include "storage/parquet/module.hpp"

namespace parquet::arrow {
class FileReader;
}

namespace weft::storage::parquet {

/// Opens a file, which keeps `source` and refers to `kept`. invalid_argument when it is no Parquet file, or is encrypted.
Result<void> open_file(std::unique_ptr<Source> source, const std::string& path, KeptError& kept,
                       std::unique_ptr<::parquet::arrow::FileReader>& file);
/// As Module::open().
Result<std::unique_ptr<Reader>> open_reader(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                                            std::span<const Condition> conditions);

}  // namespace weft::storage::parquet

// A Parquet file that is read through Arrow. Private to libweft-parquet.so.
#pragma once

#include "storage/parquet/module.hpp"

namespace weft::storage::parquet {

/// As Module::open().
Result<std::unique_ptr<Reader>> open_reader(std::unique_ptr<Source> source, const std::string& path, const Shape& row,
                                            std::span<const Condition> conditions);

}  // namespace weft::storage::parquet

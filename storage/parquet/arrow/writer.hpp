// A Parquet file that is written through Arrow. Private to libweft-parquet.so.
#pragma once

#include "storage/parquet/module.hpp"

namespace weft::storage::parquet {

/// As Module::create().
Result<std::unique_ptr<Writer>> open_writer(std::unique_ptr<Sink> sink, const Shape& row, const WriteOptions& options);

}  // namespace weft::storage::parquet

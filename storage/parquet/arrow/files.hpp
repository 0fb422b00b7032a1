// A Source as Arrow reads it, and a Sink as it writes to. Private to libweft-parquet.so.
#pragma once

#include <memory>

#include <arrow/io/interfaces.h>

#include "storage/parquet/arrow/status.hpp"
#include "storage/parquet/module.hpp"

namespace weft::storage::parquet {

/// `kept` outlives it.
std::shared_ptr<::arrow::io::RandomAccessFile> arrow_file(std::unique_ptr<Source> source, KeptError& kept);
std::shared_ptr<::arrow::io::OutputStream> arrow_stream(std::unique_ptr<Sink> sink, KeptError& kept);

}  // namespace weft::storage::parquet

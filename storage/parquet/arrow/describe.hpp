// The columns of a file. Private to libweft-parquet.so.
#pragma once

#include <memory>
#include <string>

#include "storage/parquet/module.hpp"

namespace weft::storage::parquet {

/// As Module::describe().
Result<Contents> contents_of(std::unique_ptr<Source> source, const std::string& path);

}  // namespace weft::storage::parquet

// A worker's partitions of tables, beside its chunks and in the same directories.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/worker/chunk_service.hpp"

namespace weft::runtime {

struct WorkerTableOptions {
  std::vector<std::string> directories;
  std::uint64_t reserve = std::uint64_t{1} << 30;
};

/// Serves tables as well as what `chunks` makes serves.
ChunkServiceFactory worker_tables(WorkerTableOptions options, ChunkServiceFactory chunks);

}  // namespace weft::runtime

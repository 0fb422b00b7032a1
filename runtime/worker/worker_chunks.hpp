// A worker's chunk store in the cluster: opens it when the master has named the cluster, reports its chunks, and copies and erases
// as the master commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/worker/chunk_service.hpp"

namespace weft::runtime {

struct WorkerChunkOptions {
  std::vector<std::string> directories;
  std::uint64_t reserve = std::uint64_t{1} << 30;
  std::uint64_t scrub_rate = 8u << 20;
  std::chrono::nanoseconds scrub_interval = std::chrono::hours(24);  // from one look at everything to the next
  std::uint64_t copy_rate = 128u << 20;
  std::chrono::nanoseconds report_interval = std::chrono::hours(1);  // about; from one report of all chunks to the next
};

/// A store that cannot be opened ends the worker.
ChunkServiceFactory worker_chunks(WorkerChunkOptions options);

}  // namespace weft::runtime

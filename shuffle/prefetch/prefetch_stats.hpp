// What is counted of blocks that were prefetched for the tasks that read them.
#pragma once

#include <cstdint>

namespace weft::shuffle {

/// Bytes as they take memory, except those of files. Since the worker, or the job, began.
struct PrefetchStats {
  std::uint64_t prefetched_bytes = 0;
  std::uint64_t read_bytes = 0;          // of these by tasks, each once
  std::uint64_t wasted_bytes = 0;        // of these given up before a task read them
  std::uint64_t evicted_bytes = 0;       // moved from memory to files
  std::uint64_t evicted_file_bytes = 0;  // what those files took
  std::uint64_t returned_bytes = 0;      // moved back

  PrefetchStats& operator+=(const PrefetchStats& more) {
    prefetched_bytes += more.prefetched_bytes, read_bytes += more.read_bytes, wasted_bytes += more.wasted_bytes;
    evicted_bytes += more.evicted_bytes, evicted_file_bytes += more.evicted_file_bytes, returned_bytes += more.returned_bytes;
    return *this;
  }
  bool operator==(const PrefetchStats&) const = default;
};

/// What is in memory now, and what left it since start.
struct PrefetchMemoryStats {
  std::uint64_t held_bytes = 0, held_segments = 0;
  std::uint64_t evictions = 0;      // of a partition
  std::uint64_t dropped_bytes = 0;  // left memory and could not be written or read back, so they are fetched again
};

struct PrefetcherState : PrefetchStats, PrefetchMemoryStats {
  std::uint64_t file_bytes = 0;  // what files take now
};

}  // namespace weft::shuffle

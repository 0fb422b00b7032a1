// What became of blocks that were prefetched for the tasks that read them.
#pragma once

#include <cstdint>

namespace weft::shuffle {

/// All in bytes as they take memory, but those of files.
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

}  // namespace weft::shuffle

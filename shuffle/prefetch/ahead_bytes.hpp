// What became of blocks that were brought ahead of the tasks that read them.
#pragma once

#include <cstdint>

namespace weft::shuffle {

/// All in bytes as they take memory, but those of files.
struct AheadBytes {
  std::uint64_t brought_bytes = 0;
  std::uint64_t read_bytes = 0;          // of these by tasks, each once
  std::uint64_t unread_bytes = 0;        // of these given up before a task read them: brought in vain
  std::uint64_t evicted_bytes = 0;       // moved from memory to files
  std::uint64_t evicted_file_bytes = 0;  // what those files took
  std::uint64_t returned_bytes = 0;      // moved back

  AheadBytes& operator+=(const AheadBytes& more) {
    brought_bytes += more.brought_bytes, read_bytes += more.read_bytes, unread_bytes += more.unread_bytes;
    evicted_bytes += more.evicted_bytes, evicted_file_bytes += more.evicted_file_bytes, returned_bytes += more.returned_bytes;
    return *this;
  }
  bool operator==(const AheadBytes&) const = default;
};

}  // namespace weft::shuffle

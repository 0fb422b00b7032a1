// What a prefetcher may take, and how it fetches.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "shuffle/transfer/block_fetcher.hpp"

namespace weft::shuffle {

struct PrefetchOptions {
  std::uint64_t memory_bytes = 0;          // held at most, all in the store's budget; what is under way comes on top
  std::uint64_t disk_bytes = 0;            // of blocks in files at most, as they take memory; beyond it they are given up
  std::size_t segments = 2048;             // held at most, and as many in files: each is a descriptor
  std::uint32_t round = 1;                 // partitions that are read at a time: those of earlier rounds come first
  std::uint64_t fetch_bytes = 4u << 20;    // wanted size of one fetch
  bool quiet = false;                      // does not log what is usual where it runs
  std::uint64_t least_bytes = 128u << 10;  // less waits for more, until all outputs are known
  // Tasks wait for what is under way, so nothing is tried twice: a task itself requests what did not come.
  FetchOptions fetch{.pull = {.in_flight = 4, .attempts = 1, .reply_deadline = std::chrono::seconds(5)}};
};

}  // namespace weft::shuffle

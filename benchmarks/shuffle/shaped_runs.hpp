// The jobs that the shuffle modes are compared on, and what must come of it.
#pragma once

#include <cstdint>
#include <string>

#include "benchmarks/shuffle/shaped_cluster.hpp"

namespace weft::bench {

struct ShapedSetting {
  std::string programs;      // where weft and the jobs are
  std::string name;          // of the network
  std::string data, spills;  // directories of its own
  int nodes = 4, slots = 2;  // slots: of each node
  int megabits = 300;        // of each node, in either direction
  SlowDisk disk;             // of each node
  int rounds = 5;            // runs in each mode
  std::uint64_t bytes = 0;   // shuffled by GroupByTest
  std::string html;          // file for the timelines; empty: none

  /// Five rounds of tasks, of reduces as well.
  std::uint64_t maps() const { return 5 * static_cast<std::uint64_t>(nodes) * static_cast<std::uint64_t>(slots); }
};

/// Prints the table. False when a bound was missed; what goes wrong ends the program with the reason.
bool run_shaped(const ShapedSetting& setting);

}  // namespace weft::bench

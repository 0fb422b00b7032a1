// What an attempt used, from the thread that runs it to the master's core, its event log and its reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "runtime/protocol/bad_records.hpp"

namespace weft::runtime {

/// A key that many of the records have that a task wrote to a shuffle, by a sample of them.
struct HotKey {
  std::string text;             // as people read it; of long ones the beginning
  std::uint32_t partition = 0;  // where they went
  std::uint64_t records = 0;    // about how many
  friend bool operator==(const HotKey&, const HotKey&) = default;
};

/// Measured where the attempt ran. All 0: not known.
struct TaskUsage {
  Duration run{0};                       // from the first instruction of its stage's code to the last
  Duration read{0};                      // of that, until it had the bytes of its input files
  Duration write{0};                     // of that, storing bytes of its output files
  Duration cpu{0};                       // processor time of its thread, in user code and in the kernel
  std::uint64_t peak_memory = 0;         // bytes that its operators held at most, of its memory budget
  BadRecords bad_records{};              // that its functions reported
  Duration ready{0};                     // of its run, waiting for a processor that others used
  std::uint64_t disk_written = 0;        // bytes that its thread made disks write: spills, map outputs, output files
  std::uint64_t shuffle_read_bytes = 0;  // of map outputs
  std::uint64_t output_bytes = 0;        // written to output files, before they are compressed
  std::uint64_t spilled_bytes = 0;       // as they lie on the disk; what is merged and written again counts again
  Duration spill{0};                     // of its run, compressing and writing these
  Duration spill_began{0};               // the first of them, since its run began
  std::vector<HotKey> hot_keys{};        // of its map output, the ones with the most records first
  friend bool operator==(const TaskUsage&, const TaskUsage&) = default;
};

}  // namespace weft::runtime

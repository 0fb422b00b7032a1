// What an attempt used, from the thread that runs it to the master's core, its event log and its reports.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "runtime/protocol/bad_records.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {

/// Measured where the attempt ran. All 0: not known.
struct TaskUsage {
  Duration run{0};                // from the first instruction of its stage's code to the last
  Duration read{0};               // of that, until it had the bytes of its input files
  Duration write{0};              // of that, storing bytes of its output files
  Duration cpu{0};                // processor time of its thread, in user code and in the kernel
  std::uint64_t peak_memory = 0;  // bytes that its operators held at most, of its memory budget
  BadRecords bad_records{};       // that its functions reported
  friend bool operator==(const TaskUsage&, const TaskUsage&) = default;
};

/// Where the time of an attempt went, or that of several together. It adds up to what they ran.
struct TaskPhases {
  Duration read{0};     // waiting for the bytes of input files
  Duration shuffle{0};  // waiting for map outputs
  Duration compute{0};  // everything else: user code, operators, spills
  Duration write{0};    // storing map outputs and output files
  friend bool operator==(const TaskPhases&, const TaskPhases&) = default;
};

inline TaskPhases phases_of(const TaskUsage& usage, const shuffle::ShuffleTimes& shuffle) {
  TaskPhases phases{usage.read, shuffle.read, Duration(0), usage.write + shuffle.write};
  phases.compute = std::max(Duration(0), usage.run - phases.read - phases.shuffle - phases.write);
  return phases;
}

inline TaskPhases& operator+=(TaskPhases& sum, const TaskPhases& other) {
  sum.read += other.read;
  sum.shuffle += other.shuffle;
  sum.compute += other.compute;
  sum.write += other.write;
  return sum;
}

}  // namespace weft::runtime

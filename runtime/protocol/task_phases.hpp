// Where the time of attempts went.
#pragma once

#include <algorithm>

#include "base/clock.hpp"
#include "runtime/protocol/task_usage.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {

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

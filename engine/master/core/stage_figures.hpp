// A stage's attempts and tasks in figures: what the core counts and `weft job status` tells.
#pragma once

#include <cstdint>

#include "base/quantile_sketch.hpp"

namespace weft::master {

/// Attempts at a stage's tasks. All that were launched are first, retried or speculative ones (StageStatus); all that run no more
/// are one of the others.
struct StageAttempts {
  std::uint32_t first = 0;     // at their tasks
  std::uint32_t retried = 0;   // launched after another attempt at the task had ended
  std::uint32_t finished = 0;  // also at tasks whose output was lost later
  std::uint32_t failed = 0;
  std::uint32_t killed = 0;  // slower than the other attempt at the task, preempted, or of no use any more
  std::uint32_t lost = 0;    // with their worker
};

/// One value for each figure that is kept of a task.
template <class T>
struct TaskFigures {
  T nanoseconds{};         // from its launch to its end, without what it waited for inputs that were not complete
  T input_bytes{};         // read from files
  T shuffle_read_bytes{};  // of map outputs
  T shuffle_bytes{};       // written to the stage's shuffle
  T output_bytes{};        // written to files before they are compressed, and results that went to the driver
  T spilled_bytes{};       // written to the disk because memory was short
};

inline TaskFigures<Distribution> distributions(const TaskFigures<QuantileSketch>& of) {
  return {of.nanoseconds.distribution(),   of.input_bytes.distribution(),  of.shuffle_read_bytes.distribution(),
          of.shuffle_bytes.distribution(), of.output_bytes.distribution(), of.spilled_bytes.distribution()};
}

}  // namespace weft::master

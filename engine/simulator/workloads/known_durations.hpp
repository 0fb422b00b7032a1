// Durations that a trace knows of some tasks only.
#pragma once

#include <cstddef>

#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// Sets the durations of the stage from `tasks`, whose member `duration` may be empty; those tasks take the mean of the others.
/// Returns how many these are.
template <class Tasks>
std::size_t set_durations(const Tasks& tasks, StageSpec& stage) {
  Time sum{0};
  std::int64_t known = 0;
  for (const auto& task : tasks) {
    if (task.duration) sum += *task.duration, ++known;
  }
  stage.duration = known > 0 ? sum / known : Time{0};
  for (const auto& task : tasks) stage.durations.push_back(task.duration.value_or(stage.duration));
  return tasks.size() - static_cast<std::size_t>(known);
}

}  // namespace weft::simulator::workloads

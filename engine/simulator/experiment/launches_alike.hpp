// How much of what a scheduler decided it decided again.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/simulator/workloads/recording.hpp"

namespace weft::simulator::experiment {

/// How many launches of `recorded` are in `simulated`, too, on the same node and in the same order: the length of the longest
/// sequence that both contain. The k-th launch of a task is compared with its k-th launch.
std::size_t launches_alike(const std::vector<workloads::RecordedLaunch>& recorded,
                           const std::vector<workloads::RecordedLaunch>& simulated);

}  // namespace weft::simulator::experiment

// How many decisions of a scheduler a replay repeats.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/simulator/workloads/recording.hpp"

namespace weft::simulator::experiment {

/// How many launches of `recorded` are in `simulated`, too, on the same nodes and in the same order: the length of the longest
/// common sequence. The k-th launch of a task there is compared with its k-th launch here.
std::size_t launches_alike(const std::vector<workloads::RecordedLaunch>& recorded,
                           const std::vector<workloads::RecordedLaunch>& simulated);

}  // namespace weft::simulator::experiment

// What could have been different about a workload on another day.
#pragma once

#include <cstdint>

#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// The jobs arrive in another order at the same moments: each takes the arrival of another job near it, at most an eighth of all
/// jobs away (or four). So a day keeps its quiet and busy hours, and the same work is done. Equal seeds give equal orders.
void reorder(Workload& workload, std::uint64_t seed);

/// Jobs keep their estimates and hints with the probability `known`, as if their programs had run before. The others lose what only
/// an earlier run gives to schedulers: durations, profiles, ratios of shuffles, costs of reduces.
void forget(Workload& workload, double known, std::uint64_t seed);

}  // namespace weft::simulator::workloads

// Random jobs on simulated clusters with random faults, all from one seed.
#pragma once

#include <memory>

#include "base/sanitized.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master::test {

/// Sweeps are divided by this: under sanitizers a run takes many times as long.
inline constexpr std::uint64_t kShare = kSanitized ? 15 : 1;

/// A cluster with a random number of nodes, and random faults.
SimulatedOptions faulty(std::uint64_t seed);
/// Runs several jobs with several actions each. Returns the cluster for what is to be looked at.
std::unique_ptr<SimulatedCluster> run_jobs(const SimulatedOptions& options);

}  // namespace weft::master::test

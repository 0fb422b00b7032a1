// The parts of the page that say whose tasks ran when, and for whom schedulers differ.
#pragma once

#include <string>

#include "engine/simulator/report/comparison.hpp"

namespace weft::simulator::report {

/// A chart per scheduler of the running tasks by user, of its first seed; empty where one user has all jobs, or nothing was
/// sampled.
std::string tasks_of_users(const Comparison& comparison);

/// Each job's completion time beside that under the first scheduler, over all seeds, and the users' mean completion times; empty
/// with one scheduler.
std::string winners(const Comparison& comparison);

}  // namespace weft::simulator::report

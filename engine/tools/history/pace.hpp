// How fast the nodes of a job were, one against the others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tools/history/history.hpp"

namespace weft::history {

struct SlowNode {
  std::uint32_t node = 0;
  double ratio = 0;         // what its tasks took, against those of the same stages elsewhere: the median, long ones counting more
  std::size_t tasks = 0;    // that were compared
  double cost_seconds = 0;  // about what it cost the job
};

/// Nodes whose tasks took at least half as long again as those of the same stages elsewhere, though they read no more, so often
/// that chance does not explain it (a rank test over all stages), and that cost the job a second and a twentieth of its time.
/// By node. `seconds`: how long the job took.
std::vector<SlowNode> slow_nodes(const LoggedJob& job, double seconds);

}  // namespace weft::history

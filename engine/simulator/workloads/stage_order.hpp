// Puts the stages of a job into the order a Workload wants: parents before children.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "engine/simulator/workload.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

struct Edge {
  std::uint32_t from = 0, to = 0;  // positions in `stages`; `to` waits for `from`
};

/// Sorts the stages by depth, those of equal depth keeping their order, and fills `parents` (each once). invalid_argument names a
/// stage on a cycle.
Result<void> order_stages(std::vector<StageSpec>& stages, const std::vector<Edge>& edges);
/// The same for a job that began in line `first_line` and ends with the current one. `corrupt` names file, line and job, too.
Result<void> order_stages(JobSpec& job, const std::vector<Edge>& edges, const Lines& lines, std::uint64_t first_line);

}  // namespace weft::simulator::workloads

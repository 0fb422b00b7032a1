// The part of a cluster's nodes that is available over time, f(t), as a CSV file: measured, or forecast.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/simulator/cluster_model.hpp"

namespace weft::simulator::experiment {

/// Lines of "from,part" or "from,part,nodes", ascending in time. Blank lines, lines that begin with '#', and the heading
/// "from,part,nodes" are skipped. Errors name file and line.
Result<std::vector<Availability>> read_availability_file(const std::string& path);

}  // namespace weft::simulator::experiment

// How much of a cluster's nodes there is over time, f(t), as a CSV file: measured, or forecast.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/simulator/cluster_model.hpp"

namespace weft::simulator::experiment {

/// Lines of "from,part" or "from,part,nodes", ascending in time; blank lines, those that begin with '#' and the heading
/// "from,part,nodes" do not count. Errors name file and line.
Result<std::vector<Availability>> read_availability_file(const std::string& path);

}  // namespace weft::simulator::experiment

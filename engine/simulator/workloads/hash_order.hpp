// The order in which jobs of the same moment enter the simulator of Carbyne's authors: that of a Java hash set of objects.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// Puts jobs that arrive together into the order in which a java.util.HashSet yields objects that define no hash code. `jobs` are
/// in the order of the file on entry, by arrival afterwards. OpenJDK numbers objects by a generator, Marsaglia's xorshift with the
/// seed of a program's first thread. The jobs of the first moment get its numbers from `position` on, then the others, both in the
/// order of the file.
void order_by_hash(std::vector<JobSpec>& jobs, std::uint32_t position);

}  // namespace weft::simulator::workloads

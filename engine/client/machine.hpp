// What this machine offers, for defaults.
#pragma once

#include <cstdint>

namespace weft::client {

/// Cores this process may use; at least 1.
std::uint32_t available_cores();
/// The memory budget of a job when none is given: a quarter of the machine's, or of what the control groups above this process
/// leave it.
std::uint64_t default_memory_budget();

/// Limits the private memory of this process, so that a user function that allocates without end gets std::bad_alloc instead of
/// bringing the machine down. Never lowers the limit below `budget` and some slack; never raises one that is in force.
void bound_private_memory(std::uint64_t budget);

}  // namespace weft::client

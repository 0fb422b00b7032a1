// The clock of the services of files and tables, which pass the time to their state machines.
#pragma once

#include <chrono>

#include "base/clock.hpp"
#include "storage/namespace/types.hpp"

namespace weft::master {

inline storage::Time steady_now() { return std::chrono::duration_cast<storage::Time>(SystemClock().now().time_since_epoch()); }

}  // namespace weft::master

// The scheduler that masters, private clusters, embedded jobs and simulations use when --scheduler names none.
#pragma once

namespace weft::schedulers {

inline constexpr const char* kDefaultScheduler = "fsp";

}  // namespace weft::schedulers
